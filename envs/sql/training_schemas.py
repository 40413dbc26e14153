"""The schemas of the train split. No table name of them is in the test split."""

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
    "Ada Boris Carla Dmitri Elena Farid Greta Hassan Ines Jonas Keiko Lars Mina Nils Olga Pavel "
    "Rosa Samir Tessa Umar Vera Wendel Yara Zoë"
)
_LAST = (
    "Abbot Berg Castell Dunmore Eriksen Falk Garrow Holt Ivarsson Jansen Kessler Lindqvist "
    "Moreau Nyberg Okafor Petrov Quist Rahman Silva Tanaka Urban Vidal Weaver Yilmaz"
)

_CLINIC = Schema(
    name="clinic",
    owner=Table(
        name="doctor",
        singular="doctor",
        plural="doctors",
        rows=(9, 15),
        columns=(
            key(),
            named("name", _FIRST, _LAST),
            category("specialty", "cardiology|dermatology|neurology|pediatrics|surgery"),
            whole("experience_years", 1, 35, "experience in years"),
            money("hourly_fee", 60, 240),
            category("office", "north wing|south wing|annex|tower", missing=0.2),
        ),
    ),
    item=Table(
        name="patient",
        singular="patient",
        plural="patients",
        rows=(26, 40),
        columns=(
            key(),
            named("full_name", _FIRST, _LAST),
            reference("doctor"),
            day("birth_date", "1940-01-01", "2015-12-31"),
            category("blood_type", "A|B|AB|O"),
            whole("weight_kg", 40, 110, "weight in kg"),
            category("insurer", "Helvia|Medicore|Northcare|Salus", missing=0.25),
        ),
    ),
    event=Table(
        name="appointment",
        singular="appointment",
        plural="appointments",
        rows=(70, 110),
        columns=(
            key(),
            reference("patient"),
            day("visit_date", "2022-01-01", "2024-12-31"),
            category("status", "booked|cancelled|completed|missed"),
            whole("duration_minutes", 10, 60, "duration in minutes"),
            money("charge", 20, 400),
            whole("pain_score", 0, 10, missing=0.3),
        ),
    ),
)

_LIBRARY = Schema(
    name="library",
    owner=Table(
        name="branch",
        singular="branch",
        plural="branches",
        rows=(8, 13),
        columns=(
            key(),
            named(
                "branch_name",
                "Ashgrove Birchwood Cedar Elmfield Foxhill Greenway Hazel Ivy Juniper Kingsway",
                "Library Reading-Room Archive House Annex",
            ),
            category("city", "Ardley|Brookton|Calder|Dunwich|Eastmere"),
            whole("shelf_count", 20, 300, "number of shelves"),
            whole("opened_year", 1950, 2020, additive=False),
            money("annual_budget", 20000, 90000),
        ),
    ),
    item=Table(
        name="book",
        singular="book",
        plural="books",
        rows=(28, 44),
        columns=(
            key(),
            named(
                "title",
                "Silent Broken Golden Hidden Distant Burning Winter Paper Crooked Salt Iron "
                "Borrowed",
                "Harbour Garden Letters River Mirror Orchard Bridge Kingdom Lantern Season",
            ),
            reference("branch"),
            category("genre", "biography|crime|fantasy|history|poetry|science"),
            whole("pages", 60, 900, "number of pages"),
            money("price", 4, 45),
            day("published", "1990-01-01", "2024-06-30", "publication date"),
            category("translator", "A. Keller|M. Duarte|S. Okoye", missing=0.6),
        ),
    ),
    event=Table(
        name="loan",
        singular="loan",
        plural="loans",
        rows=(70, 110),
        columns=(
            key(),
            reference("book"),
            day("loan_date", "2022-01-01", "2024-12-31"),
            category("member_type", "adult|child|senior|student"),
            whole("days_kept", 1, 45, "number of days kept"),
            money("fine", 0.5, 20, missing=0.5),
            whole("renewals", 0, 4, "number of renewals"),
        ),
    ),
)

_LOGISTICS = Schema(
    name="logistics",
    owner=Table(
        name="warehouse",
        singular="warehouse",
        plural="warehouses",
        rows=(8, 13),
        columns=(
            key(),
            named(
                "code_name",
                "Alder Basalt Cobalt Delta Ember Flint Granite Harrow Indigo Jasper",
                "Depot Hub Yard Terminal Store",
            ),
            category("region", "central|coastal|eastern|northern|western"),
            whole("dock_count", 2, 30, "number of docks"),
            whole("floor_area", 800, 9000),
            category("security_firm", "Bastion|Ironclad|Sentry", missing=0.3),
        ),
    ),
    item=Table(
        name="vehicle",
        singular="vehicle",
        plural="vehicles",
        rows=(26, 42),
        columns=(
            key(),
            named(
                "plate",
                "KX LR MB NT PD QS RV TW UZ VY",
                "104 118 226 237 341 359 462 475 583 597 618 734",
            ),
            reference("warehouse"),
            category("vehicle_type", "lorry|pickup|tanker|trailer|van"),
            whole("capacity_kg", 500, 12000, "capacity in kg"),
            whole("mileage", 1000, 300000),
            day("last_service", "2021-01-01", "2024-12-31", "last service date", missing=0.2),
            money("daily_cost", 40, 320),
        ),
    ),
    event=Table(
        name="shipment",
        singular="shipment",
        plural="shipments",
        rows=(70, 110),
        columns=(
            key(),
            reference("vehicle"),
            day("ship_date", "2022-01-01", "2024-12-31", "shipping date"),
            category("priority", "express|normal|overnight|slow"),
            whole("weight_kg", 5, 4000, "weight in kg"),
            whole("distance_km", 10, 1500, "distance in km"),
            money("freight_cost", 15, 2500),
            whole("delay_hours", 1, 72, "delay in hours", missing=0.5),
        ),
    ),
)

_PAYROLL = Schema(
    name="payroll",
    owner=Table(
        name="department",
        singular="department",
        plural="departments",
        rows=(8, 12),
        columns=(
            key(),
            named(
                "department_name",
                "Corporate Digital Field Global Internal Regional",
                "Accounting Design Engineering Legal Marketing Research",
            ),
            category("location", "Bergen|Lyon|Porto|Turin|Vienna"),
            money("budget", 50000, 900000),
            whole("floor", 1, 12, additive=False),
            category("cost_group", "direct|indirect|shared", missing=0.2),
        ),
    ),
    item=Table(
        name="employee",
        singular="employee",
        plural="employees",
        rows=(28, 44),
        columns=(
            key(),
            named("name", _FIRST, _LAST),
            reference("department"),
            category("job_title", "analyst|assistant|director|engineer|manager"),
            money("salary", 24000, 120000),
            day("hire_date", "2005-01-01", "2024-12-31"),
            whole("vacation_days", 15, 35, "number of vacation days"),
            whole("desk_number", 1, 400, missing=0.3),
        ),
    ),
    event=Table(
        name="payslip",
        singular="payslip",
        plural="payslips",
        rows=(70, 110),
        columns=(
            key(),
            reference("employee"),
            day("pay_date", "2022-01-01", "2024-12-31"),
            category("pay_method", "bank|card|cash|cheque"),
            whole("hours_worked", 60, 200, "number of hours worked"),
            money("gross_pay", 1500, 9000),
            money("bonus", 50, 2000, missing=0.5),
        ),
    ),
)

_ENERGY = Schema(
    name="energy",
    owner=Table(
        name="substation",
        singular="substation",
        plural="substations",
        rows=(8, 13),
        columns=(
            key(),
            named(
                "station_name",
                "Amber Bracken Copper Dawn Eagle Fern Glacier Heath Iris Jade",
                "Ridge Valley Point Moor Field",
            ),
            category("grid_zone", "alpha|beta|delta|gamma|omega"),
            whole("voltage_kv", 10, 400, "voltage in kV", additive=False),
            whole("built_year", 1960, 2022, additive=False),
            category("operator", "Gridline|Northvolt Ops|Sparkwell", missing=0.25),
        ),
    ),
    item=Table(
        name="meter",
        singular="meter",
        plural="meters",
        rows=(26, 42),
        columns=(
            key(),
            named(
                "serial",
                "EM GM HM PM SM TM",
                "1007 1123 1245 1368 1482 1590 1611 1734 1856 1979 2013 2168",
            ),
            reference("substation"),
            category("tariff", "business|day|night|solar|standard"),
            day("installed", "2012-01-01", "2024-06-30", "installation date"),
            whole("max_load", 5, 120, "maximum load"),
            flag("smart", "are smart"),
            category("firmware", "v1|v2|v3", missing=0.4),
        ),
    ),
    event=Table(
        name="reading",
        singular="reading",
        plural="readings",
        rows=(70, 110),
        columns=(
            key(),
            reference("meter"),
            day("read_date", "2022-01-01", "2024-12-31", "reading date"),
            category("method", "estimated|manual|remote"),
            whole("kwh", 20, 1800, "energy in kWh"),
            money("cost", 5, 600),
            whole("peak_hour", 0, 23, missing=0.3),
        ),
    ),
)

_SCHOOL = Schema(
    name="school",
    owner=Table(
        name="teacher",
        singular="teacher",
        plural="teachers",
        rows=(9, 14),
        columns=(
            key(),
            named("name", _FIRST, _LAST),
            category("subject", "art|biology|chemistry|geography|music"),
            whole("age", 24, 66),
            money("salary", 28000, 70000),
            category("room", "B12|C04|D31|E20", missing=0.3),
        ),
    ),
    item=Table(
        name="course",
        singular="course",
        plural="courses",
        rows=(24, 38),
        columns=(
            key(),
            named(
                "course_name",
                "Applied Basic Creative Modern Practical Advanced Comparative",
                "Algebra Botany Drawing Ethics Geology Harmony Logic Optics",
            ),
            reference("teacher"),
            category("term", "autumn|spring|summer|winter"),
            whole("credits", 1, 12, "number of credits"),
            whole("seats", 8, 120, "number of seats"),
            money("fee", 30, 900),
            category("textbook", "Atlas|Compass|Primer", missing=0.4),
        ),
    ),
    event=Table(
        name="enrolment",
        singular="enrolment",
        plural="enrolments",
        rows=(70, 110),
        columns=(
            key(),
            reference("course"),
            day("enrolled_on", "2022-01-01", "2024-12-31", "enrolment date"),
            category("student_group", "exchange|full-time|guest|part-time"),
            whole("absences", 0, 20, "number of absences"),
            whole("grade", 1, 100, missing=0.3),
            money("amount_paid", 30, 900),
        ),
    ),
)

_RETAIL = Schema(
    name="retail",
    owner=Table(
        name="supplier",
        singular="supplier",
        plural="suppliers",
        rows=(9, 14),
        columns=(
            key(),
            named(
                "company",
                "Bright Clear Fair Grand Keen Prime Quick Solid True",
                "Foods Goods Imports Trading Works",
            ),
            category("country", "Chile|Estonia|Ghana|Japan|Portugal"),
            whole("rating", 1, 10),
            money("credit_limit", 1000, 50000),
            category("contact", "email|fax|phone", missing=0.3),
        ),
    ),
    item=Table(
        name="product",
        singular="product",
        plural="products",
        rows=(28, 44),
        columns=(
            key(),
            named(
                "product_name",
                "Classic Compact Deluxe Eco Family Light Mini Travel Ultra",
                "Blender Chair Clock Heater Kettle Lamp Radio Table Toaster",
            ),
            reference("supplier"),
            category("category", "bath|garden|kitchen|office|toys"),
            money("price", 3, 250),
            whole("stock", 0, 500, "number in stock"),
            day("added_on", "2018-01-01", "2024-12-31", "date added"),
            whole("discount_percent", 5, 50, "discount in percent", missing=0.5),
        ),
    ),
    event=Table(
        name="sale",
        singular="sale",
        plural="sales",
        rows=(70, 110),
        columns=(
            key(),
            reference("product"),
            day("sale_date", "2022-01-01", "2024-12-31"),
            category("channel", "kiosk|online|shop|telephone"),
            whole("quantity", 1, 30),
            money("total", 3, 3000, "total amount"),
            category("coupon", "SPRING|SUMMER|WELCOME", missing=0.6),
        ),
    ),
)

_HOTEL = Schema(
    name="hotel",
    owner=Table(
        name="hotel",
        singular="hotel",
        plural="hotels",
        rows=(8, 13),
        columns=(
            key(),
            named(
                "hotel_name",
                "Azure Blue Crown Grand Lakeside Maple Old Park Royal Seaview",
                "Inn Lodge Palace Resort Suites",
            ),
            category("town", "Almere|Bellano|Corvo|Drava|Estoril"),
            whole("stars", 1, 5, "star rating"),
            whole("staff", 10, 220, "number of staff"),
            category("chain", "Comfia|Restwell|Stayline", missing=0.4),
        ),
    ),
    item=Table(
        name="room",
        singular="room",
        plural="rooms",
        rows=(28, 44),
        columns=(
            key(),
            named("room_code", "E N S W", "101 102 108 113 204 207 215 301 306 312 405 411 418"),
            reference("hotel"),
            category("room_type", "deluxe|double|family|single|suite"),
            money("nightly_rate", 45, 420),
            whole("area", 12, 90),
            flag("has_balcony", "have a balcony"),
            day("renovated", "2010-01-01", "2024-12-31", "renovation date", missing=0.35),
        ),
    ),
    event=Table(
        name="booking",
        singular="booking",
        plural="bookings",
        rows=(70, 110),
        columns=(
            key(),
            reference("room"),
            day("check_in", "2022-01-01", "2024-12-31", "check-in date"),
            category("source", "agency|direct|phone|website"),
            whole("nights", 1, 14, "number of nights"),
            whole("guests", 1, 6, "number of guests"),
            money("amount", 45, 4000),
            whole("review_score", 1, 10, missing=0.4),
        ),
    ),
)

TRAIN_SCHEMAS = (
    _CLINIC,
    _LIBRARY,
    _LOGISTICS,
    _PAYROLL,
    _ENERGY,
    _SCHOOL,
    _RETAIL,
    _HOTEL,
)
"""Schemas from which tasks of the train split are drawn."""
