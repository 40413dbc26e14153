"""The families of tables: orders, sensors, panels, surveys, logs, trials."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping

from execgym.envs.data_analysis.families import (
    Derived,
    Family,
    Field,
    Record,
    Role,
    Shape,
    Value,
    decimal_of,
)

_REGIONS = ("north", "south", "east", "west", "central")
_SECTORS = ("energy", "retail", "transport", "health", "media")
_LAND = ("forest", "city", "coast", "meadow", "mountain")
_AGE_GROUPS = ("under 30", "30 to 49", "50 to 64", "65 and over")


def _season(share: float, height: float) -> float:
    return 1.0 + height * math.sin(2 * math.pi * (share - 0.2))


def _customer(generator: random.Random) -> Record:
    segment = generator.choice(("private", "trade", "public"))
    limit = {"private": 500, "trade": 5000, "public": 20000}[segment]
    return {
        "region": generator.choice(_REGIONS),
        "segment": segment,
        "credit_limit": limit + 50 * generator.randrange(20),
    }


def _order(generator: random.Random, customer: Mapping[str, Value], season: float) -> Record:
    trade = customer["segment"] != "private"
    price = generator.lognormvariate(3.2 if trade else 2.6, 0.7) * _season(season, 0.2)
    return {
        "channel": generator.choices(("web", "shop", "phone", "agent"), (5, 3, 1, 3 * trade + 1))[
            0
        ],
        "status": generator.choices(("paid", "open", "returned", "cancelled"), (8, 2, 1, 1))[0],
        "quantity": min(60, 1 + int(generator.expovariate(0.12 if trade else 0.5))),
        "unit_price": decimal_of(max(0.5, price), 2),
        "shipping_cost": decimal_of(generator.uniform(0, 4) + 2.5 * trade, 2),
    }


_ORDERS = Family(
    name="orders",
    facts=Shape(
        name="orders",
        row="order",
        fields=(
            Field(name="order_id", role=Role.ID, meaning="number of the order"),
            Field(name="customer_id", role=Role.REFERENCE, meaning="the customer who ordered"),
            Field(
                name="channel",
                role=Role.CATEGORY,
                meaning="how the order came in",
                values=("web", "shop", "phone", "agent"),
            ),
            Field(
                name="status",
                role=Role.CATEGORY,
                meaning="state of the order",
                values=("paid", "open", "returned", "cancelled"),
            ),
            Field(
                name="quantity",
                role=Role.COUNT,
                meaning="number of pieces",
                bounds=(2, 3, 5),
                unit="pcs",
            ),
            Field(
                name="unit_price",
                role=Role.NUMBER,
                meaning="price of one piece in euro",
                places=2,
                unit="EUR",
                bounds=(10, 15, 20, 30),
            ),
            Field(
                name="shipping_cost",
                role=Role.NUMBER,
                meaning="cost of the shipping in euro",
                places=2,
                unit="EUR",
                optional=True,
                bounds=(2, 3, 4),
            ),
            Field(name="ordered_at", role=Role.TIME, meaning="when it was ordered"),
        ),
    ),
    entities=Shape(
        name="customers",
        row="customer",
        fields=(
            Field(name="customer_id", role=Role.ID, meaning="id of the customer"),
            Field(
                name="region",
                role=Role.CATEGORY,
                meaning="where the customer lives",
                values=_REGIONS,
            ),
            Field(
                name="segment",
                role=Role.CATEGORY,
                meaning="kind of the customer",
                values=("private", "trade", "public"),
            ),
            Field(
                name="credit_limit",
                role=Role.COUNT,
                meaning="credit limit of the customer in euro",
                bounds=(1000, 6000),
            ),
        ),
    ),
    derived=Derived(
        name="amount",
        meaning="quantity times unit_price",
        left="quantity",
        sign="*",
        right="unit_price",
        places=2,
    ),
    entity_prefix="C",
    draw_entity=_customer,
    draw_fact=_order,
)


def _station(generator: random.Random) -> Record:
    surface = generator.choice(_LAND)
    height = {"mountain": 1400, "coast": 10}.get(surface, 250)
    return {
        "region": generator.choice(_REGIONS),
        "surface": surface,
        "altitude": height + generator.randrange(200),
    }


def _reading(generator: random.Random, station: Mapping[str, Value], season: float) -> Record:
    altitude = int(str(station["altitude"]))
    warmth = 11 + 9 * math.sin(2 * math.pi * (season - 0.3)) - altitude * 0.006
    air = generator.gauss(warmth, 3.5)
    return {
        "instrument": generator.choices(("mast", "hut", "buoy"), (4, 3, 1))[0],
        "quality": generator.choices(("good", "doubtful", "estimated"), (8, 1, 2))[0],
        "air_temperature": decimal_of(air, 1),
        "ground_temperature": decimal_of(air * 0.7 + generator.gauss(3, 1.2), 1),
        "humidity": max(15, min(100, round(generator.gauss(88 - air * 1.3, 9)))),
    }


_SENSORS = Family(
    name="sensors",
    facts=Shape(
        name="readings",
        row="reading",
        fields=(
            Field(name="reading_id", role=Role.ID, meaning="number of the reading"),
            Field(name="station_id", role=Role.REFERENCE, meaning="the station that took it"),
            Field(
                name="instrument",
                role=Role.CATEGORY,
                meaning="kind of the instrument",
                values=("mast", "hut", "buoy"),
            ),
            Field(
                name="quality",
                role=Role.CATEGORY,
                meaning="quality of the reading",
                values=("good", "doubtful", "estimated"),
            ),
            Field(
                name="air_temperature",
                role=Role.NUMBER,
                meaning="temperature of the air in degrees Celsius",
                places=1,
                unit="C",
                bounds=(5, 8, 12),
            ),
            Field(
                name="ground_temperature",
                role=Role.NUMBER,
                meaning="temperature of the ground in degrees Celsius",
                places=1,
                unit="C",
                bounds=(6, 9, 12),
            ),
            Field(
                name="humidity",
                role=Role.COUNT,
                meaning="relative humidity in percent",
                optional=True,
                unit="%",
                bounds=(70, 75, 80),
            ),
            Field(name="taken_at", role=Role.TIME, meaning="when it was taken"),
        ),
    ),
    entities=Shape(
        name="stations",
        row="station",
        fields=(
            Field(name="station_id", role=Role.ID, meaning="id of the station"),
            Field(
                name="region",
                role=Role.CATEGORY,
                meaning="where the station stands",
                values=_REGIONS,
            ),
            Field(
                name="surface",
                role=Role.CATEGORY,
                meaning="land around the station",
                values=_LAND,
            ),
            Field(
                name="altitude",
                role=Role.COUNT,
                meaning="altitude of the station in metres",
                bounds=(200, 400),
            ),
        ),
    ),
    derived=Derived(
        name="difference",
        meaning="air_temperature minus ground_temperature",
        left="air_temperature",
        sign="-",
        right="ground_temperature",
        places=1,
    ),
    entity_prefix="ST",
    draw_entity=_station,
    draw_fact=_reading,
)


def _firm(generator: random.Random) -> Record:
    return {
        "sector": generator.choice(_SECTORS),
        "owner": generator.choice(("family", "listed", "state")),
        "founded": generator.randrange(1950, 2020),
    }


def _report(generator: random.Random, firm: Mapping[str, Value], season: float) -> Record:
    size = 1.6 if firm["owner"] == "listed" else 1.0
    growth = {"energy": 0.3, "retail": 0.1, "media": -0.2}.get(str(firm["sector"]), 0.0)
    revenue = generator.lognormvariate(4.0, 0.5) * size * (1 + growth * season)
    return {
        "division": generator.choices(("domestic", "export", "online"), (5, 3, 2))[0],
        "audit": generator.choices(("audited", "preliminary", "revised"), (6, 3, 1))[0],
        "revenue": decimal_of(revenue, 1),
        "cost": decimal_of(revenue * generator.gauss(0.85, 0.12), 1),
        "employees": 5 + round(revenue * generator.uniform(0.6, 1.6)),
    }


_PANELS = Family(
    name="panels",
    facts=Shape(
        name="reports",
        row="report",
        fields=(
            Field(name="report_id", role=Role.ID, meaning="number of the report"),
            Field(name="firm_id", role=Role.REFERENCE, meaning="the firm that reports"),
            Field(
                name="division",
                role=Role.CATEGORY,
                meaning="division of the firm",
                values=("domestic", "export", "online"),
            ),
            Field(
                name="audit",
                role=Role.CATEGORY,
                meaning="state of the figures",
                values=("audited", "preliminary", "revised"),
            ),
            Field(
                name="revenue",
                role=Role.NUMBER,
                meaning="revenue in thousand euro",
                places=1,
                unit="kEUR",
                bounds=(45, 60, 80),
            ),
            Field(
                name="cost",
                role=Role.NUMBER,
                meaning="cost in thousand euro",
                places=1,
                unit="kEUR",
                bounds=(40, 55, 70),
            ),
            Field(
                name="employees",
                role=Role.COUNT,
                meaning="people employed",
                optional=True,
                bounds=(50, 70, 90),
            ),
            Field(name="filed_at", role=Role.TIME, meaning="when it was filed"),
        ),
    ),
    entities=Shape(
        name="firms",
        row="firm",
        fields=(
            Field(name="firm_id", role=Role.ID, meaning="id of the firm"),
            Field(
                name="sector",
                role=Role.CATEGORY,
                meaning="what the firm does",
                values=_SECTORS,
            ),
            Field(
                name="owner",
                role=Role.CATEGORY,
                meaning="who owns the firm",
                values=("family", "listed", "state"),
            ),
            Field(
                name="founded",
                role=Role.COUNT,
                meaning="year in which the firm was founded",
                bounds=(1975, 1990),
            ),
        ),
    ),
    derived=Derived(
        name="profit",
        meaning="revenue minus cost",
        left="revenue",
        sign="-",
        right="cost",
        places=1,
    ),
    entity_prefix="F",
    draw_entity=_firm,
    draw_fact=_report,
)


def _respondent(generator: random.Random) -> Record:
    return {
        "age_group": generator.choices(_AGE_GROUPS, (3, 4, 3, 2))[0],
        "home": generator.choice(_REGIONS),
        "household": generator.choices((1, 2, 3, 4, 5), (4, 5, 3, 3, 1))[0],
    }


def _response(generator: random.Random, person: Mapping[str, Value], season: float) -> Record:
    old = person["age_group"] == _AGE_GROUPS[3]
    rating = generator.gauss(6.8 if old else 5.9, 1.8) + 0.4 * season
    return {
        "topic": generator.choices(("service", "price", "range", "staff"), (4, 3, 2, 2))[0],
        "mode": generator.choices(("paper", "phone", "online"), (3 if old else 1, 2, 4))[0],
        "rating": max(1, min(10, round(rating))),
        "weight": decimal_of(generator.uniform(0.4, 2.2), 2),
        "minutes": decimal_of(generator.lognormvariate(1.7, 0.5), 1),
    }


_SURVEYS = Family(
    name="surveys",
    facts=Shape(
        name="responses",
        row="response",
        fields=(
            Field(name="response_id", role=Role.ID, meaning="number of the response"),
            Field(name="person_id", role=Role.REFERENCE, meaning="the person who answered"),
            Field(
                name="topic",
                role=Role.CATEGORY,
                meaning="what was asked about",
                values=("service", "price", "range", "staff"),
            ),
            Field(
                name="mode",
                role=Role.CATEGORY,
                meaning="how it was answered",
                values=("paper", "phone", "online"),
            ),
            Field(
                name="rating",
                role=Role.COUNT,
                meaning="rating from 1 to 10",
                bounds=(5, 6, 7),
                unit="points",
            ),
            Field(
                name="weight",
                role=Role.NUMBER,
                meaning="weight of the response",
                places=2,
                bounds=(1,),
            ),
            Field(
                name="minutes",
                role=Role.NUMBER,
                meaning="minutes that the answering took",
                places=1,
                optional=True,
                unit="min",
                bounds=(4, 6, 8),
            ),
            Field(name="answered_at", role=Role.TIME, meaning="when it was answered"),
        ),
    ),
    entities=Shape(
        name="people",
        row="person",
        fields=(
            Field(name="person_id", role=Role.ID, meaning="id of the person"),
            Field(
                name="age_group",
                role=Role.CATEGORY,
                meaning="age group of the person",
                values=_AGE_GROUPS,
            ),
            Field(
                name="home", role=Role.CATEGORY, meaning="where the person lives", values=_REGIONS
            ),
            Field(
                name="household",
                role=Role.COUNT,
                meaning="people in the household",
                bounds=(2, 3),
            ),
        ),
    ),
    derived=Derived(
        name="weighted_rating",
        meaning="rating times weight",
        left="rating",
        sign="*",
        right="weight",
        places=2,
    ),
    entity_prefix="P",
    draw_entity=_respondent,
    draw_fact=_response,
)


def _service(generator: random.Random) -> Record:
    return {
        "team": generator.choice(("search", "billing", "media", "accounts")),
        "site": generator.choice(("dublin", "oslo", "madrid")),
        "servers": generator.randrange(2, 40),
    }


def _request(generator: random.Random, service: Mapping[str, Value], season: float) -> Record:
    slow = service["team"] == "media"
    wait = generator.lognormvariate(1.5, 0.8)
    total = wait + generator.lognormvariate(4.4 if slow else 3.6, 0.6) * _season(season, 0.15)
    return {
        "method": generator.choices(("get", "post", "put", "delete"), (7, 3, 1, 1))[0],
        "outcome": generator.choices(("ok", "client error", "server error"), (8, 2, 1))[0],
        "total_time": decimal_of(total, 1),
        "wait_time": decimal_of(wait, 1),
        "bytes_sent": int(generator.lognormvariate(7.5, 1.0)) + 80,
    }


_LOGS = Family(
    name="logs",
    facts=Shape(
        name="requests",
        row="request",
        fields=(
            Field(name="request_id", role=Role.ID, meaning="number of the request"),
            Field(name="service_id", role=Role.REFERENCE, meaning="the service that answered"),
            Field(
                name="method",
                role=Role.CATEGORY,
                meaning="method of the request",
                values=("get", "post", "put", "delete"),
            ),
            Field(
                name="outcome",
                role=Role.CATEGORY,
                meaning="how it ended",
                values=("ok", "client error", "server error"),
            ),
            Field(
                name="total_time",
                role=Role.NUMBER,
                meaning="time to the answer in milliseconds",
                places=1,
                unit="ms",
                bounds=(35, 50, 80),
            ),
            Field(
                name="wait_time",
                role=Role.NUMBER,
                meaning="part of total_time spent in the queue, in milliseconds",
                places=1,
                unit="ms",
                bounds=(3, 5, 8),
            ),
            Field(
                name="bytes_sent",
                role=Role.COUNT,
                meaning="size of the answer in bytes",
                optional=True,
                bounds=(1000, 2000, 3000),
            ),
            Field(name="received_at", role=Role.TIME, meaning="when it came in"),
        ),
    ),
    entities=Shape(
        name="services",
        row="service",
        fields=(
            Field(name="service_id", role=Role.ID, meaning="id of the service"),
            Field(
                name="team",
                role=Role.CATEGORY,
                meaning="team that runs the service",
                values=("search", "billing", "media", "accounts"),
            ),
            Field(
                name="site",
                role=Role.CATEGORY,
                meaning="where the service runs",
                values=("dublin", "oslo", "madrid"),
            ),
            Field(
                name="servers",
                role=Role.COUNT,
                meaning="servers of the service",
                bounds=(10, 20),
            ),
        ),
    ),
    derived=Derived(
        name="work_time",
        meaning="total_time minus wait_time",
        left="total_time",
        sign="-",
        right="wait_time",
        places=1,
    ),
    entity_prefix="SV",
    draw_entity=_service,
    draw_fact=_request,
)


def _subject(generator: random.Random) -> Record:
    return {
        "arm": generator.choice(("placebo", "low dose", "high dose")),
        "clinic": generator.choice(("lyon", "porto", "graz", "turku")),
        "age": generator.randrange(18, 80),
    }


def _visit(generator: random.Random, subject: Mapping[str, Value], season: float) -> Record:
    effect = {"placebo": 1.0, "low dose": 4.0, "high dose": 7.5}[str(subject["arm"])]
    before = generator.gauss(62, 9) + int(str(subject["age"])) * 0.1
    return {
        "stage": generator.choices(("screening", "week 4", "week 12", "follow-up"), (2, 3, 3, 2))[
            0
        ],
        "complaint": generator.choices(("absent", "mild", "severe"), (6, 3, 1))[0],
        "score_before": decimal_of(before, 1),
        "score_after": decimal_of(before - generator.gauss(effect, 4), 1),
        "pulse": round(generator.gauss(74, 9)),
    }


_TRIALS = Family(
    name="trials",
    facts=Shape(
        name="visits",
        row="visit",
        fields=(
            Field(name="visit_id", role=Role.ID, meaning="number of the visit"),
            Field(name="subject_id", role=Role.REFERENCE, meaning="the subject who came"),
            Field(
                name="stage",
                role=Role.CATEGORY,
                meaning="which visit it was",
                values=("screening", "week 4", "week 12", "follow-up"),
            ),
            Field(
                name="complaint",
                role=Role.CATEGORY,
                meaning="how bad side effects were",
                values=("absent", "mild", "severe"),
            ),
            Field(
                name="score_before",
                role=Role.NUMBER,
                meaning="symptom score before the treatment",
                places=1,
                bounds=(60, 65, 70),
            ),
            Field(
                name="score_after",
                role=Role.NUMBER,
                meaning="symptom score after the treatment",
                places=1,
                bounds=(58, 62, 66),
            ),
            Field(
                name="pulse",
                role=Role.COUNT,
                meaning="pulse in beats a minute",
                optional=True,
                unit="bpm",
                bounds=(70, 75, 80),
            ),
            Field(name="seen_at", role=Role.TIME, meaning="when it took place"),
        ),
    ),
    entities=Shape(
        name="subjects",
        row="subject",
        fields=(
            Field(name="subject_id", role=Role.ID, meaning="id of the subject"),
            Field(
                name="arm",
                role=Role.CATEGORY,
                meaning="treatment of the subject",
                values=("placebo", "low dose", "high dose"),
            ),
            Field(
                name="clinic",
                role=Role.CATEGORY,
                meaning="clinic of the subject",
                values=("lyon", "porto", "graz", "turku"),
            ),
            Field(
                name="age",
                role=Role.COUNT,
                meaning="age of the subject in years",
                bounds=(40, 60),
            ),
        ),
    ),
    derived=Derived(
        name="improvement",
        meaning="score_before minus score_after",
        left="score_before",
        sign="-",
        right="score_after",
        places=1,
    ),
    entity_prefix="SU",
    draw_entity=_subject,
    draw_fact=_visit,
)

FAMILIES = (_ORDERS, _SENSORS, _PANELS, _SURVEYS, _LOGS, _TRIALS)
"""All families."""
