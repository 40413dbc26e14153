"""The schemas of the test split. No table name of them is in the train split."""

from __future__ import annotations

from execgym.envs.sql.schemas import (
    Schema,
    Table,
    category,
    day,
    flag,
    key,
    money,
    named,
    reference,
    whole,
)

_FIRST = (
    "Alba Bruno Chiara Darius Esme Felix Gwen Hugo Isolde Jasper Kira Leon Maren Noor Otis Priya "
    "Quentin Ruth Stellan Thea Ulla Viktor Willa Xavier José"
)
_LAST = (
    "Archer Bloom Cho Dalton Engel Forster Grimm Haddad Ito Jovanovic Khan Larsen Marek Novak "
    "Olsen Price Reyes Sato Thorne Usman Vance Wolfe Yoon Zeller"
)

_AIRLINE = Schema(
    name="airline",
    owner=Table(
        name="airport",
        singular="airport",
        plural="airports",
        rows=(8, 13),
        columns=(
            key(),
            named(
                "airport_name",
                "Castle Desert Eagle Fjord Garnet Harbour Island Jubilee Kestrel Lagoon",
                "International Municipal Regional Airfield Airport",
            ),
            category("nation", "Austria|Brazil|Canada|Denmark|Egypt"),
            whole("runways", 1, 6, "number of runways"),
            whole("elevation", 0, 2500, additive=False),
            category("hub_carrier", "Aerolux|Skyward|Volara", missing=0.3),
        ),
    ),
    item=Table(
        name="aircraft",
        singular="aircraft",
        plural="aircraft",
        rows=(26, 42),
        columns=(
            key(),
            named(
                "tail_number",
                "CX DZ FK GM HB NQ",
                "204 219 231 248 252 267 275 283 296 308 317 325",
            ),
            reference("airport"),
            category("model", "Falcon 20|Heron X|Osprey 3|Swift 100|Tern"),
            whole("seat_count", 12, 320, "number of seats"),
            whole("range_km", 600, 14000, "range in km"),
            day("delivered", "2002-01-01", "2024-06-30", "delivery date"),
            category("lessor", "Altus|Briarfin|Corvane", missing=0.4),
        ),
    ),
    event=Table(
        name="flight",
        singular="flight",
        plural="flights",
        rows=(70, 110),
        columns=(
            key(),
            reference("aircraft"),
            day("departure_date", "2022-01-01", "2024-12-31"),
            category("cabin_service", "buffet|full|none|snacks"),
            whole("passengers", 5, 320, "number of passengers"),
            money("revenue", 900, 90000),
            whole("delay_minutes", 1, 240, "delay in minutes", missing=0.4),
        ),
    ),
)

_MUSIC = Schema(
    name="music",
    owner=Table(
        name="artist",
        singular="artist",
        plural="artists",
        rows=(9, 14),
        columns=(
            key(),
            named("stage_name", _FIRST, _LAST),
            category("style", "blues|electronic|folk|jazz|opera"),
            whole("debut_year", 1975, 2022, additive=False),
            money("advance", 2000, 80000),
            category("agent", "Belmont|Crest|Dovetail", missing=0.3),
        ),
    ),
    item=Table(
        name="album",
        singular="album",
        plural="albums",
        rows=(26, 42),
        columns=(
            key(),
            named(
                "album_title",
                "Velvet Neon Hollow Electric Second Midnight Glass Tender Wild Slow",
                "Echoes Summer Static Tides Horizon Motel Signals Parade Weather",
            ),
            reference("artist"),
            category("format", "cassette|cd|digital|vinyl"),
            whole("tracks", 4, 24, "number of tracks"),
            money("list_price", 5, 60),
            day("release_date", "2000-01-01", "2024-12-31"),
            category("producer", "Hale|Mistry|Ramos", missing=0.35),
        ),
    ),
    event=Table(
        name="royalty",
        singular="royalty payment",
        plural="royalty payments",
        rows=(70, 110),
        columns=(
            key(),
            reference("album"),
            day("paid_on", "2022-01-01", "2024-12-31", "payment date"),
            category("territory", "Americas|Asia|Europe|Oceania"),
            whole("units", 10, 5000, "number of units"),
            money("net_amount", 10, 9000),
            money("tax_withheld", 1, 900, missing=0.4),
        ),
    ),
)

_FARM = Schema(
    name="farm",
    owner=Table(
        name="grower",
        singular="grower",
        plural="growers",
        rows=(9, 14),
        columns=(
            key(),
            named("grower_name", _FIRST, _LAST),
            category("county", "Ashby|Corrin|Hartwell|Lomond|Selby"),
            whole("joined_year", 1985, 2023, additive=False),
            whole("votes", 1, 40, "number of votes"),
            category("certificate", "bronze|gold|silver", missing=0.35),
        ),
    ),
    item=Table(
        name="field",
        singular="field",
        plural="fields",
        rows=(26, 40),
        columns=(
            key(),
            named(
                "field_name",
                "Badger Church Crow Furlong Long Mill North Quarry Spring Thistle",
                "Acre Bottom Corner Croft Meadow Patch Slope",
            ),
            reference("grower"),
            category("crop", "barley|beans|flax|oats|rye"),
            whole("hectares", 1, 90, "area in hectares"),
            money("rent", 100, 5000),
            flag("irrigated", "are irrigated"),
            category("soil", "chalk|clay|loam|sand", missing=0.2),
        ),
    ),
    event=Table(
        name="harvest",
        singular="harvest",
        plural="harvests",
        rows=(70, 110),
        columns=(
            key(),
            reference("field"),
            day("harvest_date", "2022-01-01", "2024-12-31"),
            category("quality", "feed|premium|seed|standard"),
            whole("bags", 10, 900, "number of bags"),
            money("sale_value", 100, 12000),
            whole("moisture", 8, 30, missing=0.3),
        ),
    ),
)

_INSURANCE = Schema(
    name="insurance",
    owner=Table(
        name="broker",
        singular="broker",
        plural="brokers",
        rows=(9, 14),
        columns=(
            key(),
            named("broker_name", _FIRST, _LAST),
            category("district", "Harbourside|Midtown|Old Town|Riverside|Uphill"),
            whole("licence_year", 1990, 2023, additive=False),
            money("commission", 500, 20000),
            category("language", "Dutch|Polish|Spanish", missing=0.4),
        ),
    ),
    item=Table(
        name="policy",
        singular="policy",
        plural="policies",
        rows=(28, 44),
        columns=(
            key(),
            named(
                "policy_number",
                "HA HB LC LD TE TF",
                "3001 3017 3042 3059 3088 3104 3126 3150 3171 3193 3208 3225",
            ),
            reference("broker"),
            category("cover", "car|fire|home|life|travel"),
            money("premium", 80, 2400),
            day("start_date", "2015-01-01", "2024-12-31"),
            whole("term_months", 6, 60, "term in months"),
            whole("excess", 50, 1000, missing=0.4),
        ),
    ),
    event=Table(
        name="claim",
        singular="claim",
        plural="claims",
        rows=(70, 110),
        columns=(
            key(),
            reference("policy"),
            day("filed_on", "2022-01-01", "2024-12-31", "filing date"),
            category("outcome", "open|paid|refused|withdrawn"),
            money("amount_claimed", 50, 20000),
            whole("handling_days", 1, 120, "handling time in days"),
            money("amount_settled", 50, 15000, missing=0.4),
        ),
    ),
)

TEST_SCHEMAS = (_AIRLINE, _MUSIC, _FARM, _INSURANCE)
"""Schemas from which tasks of the test split are drawn."""
