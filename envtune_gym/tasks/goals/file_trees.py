"""What lies in the file systems of scenarios: settings, trees of varied depth, texts worth searching and sorting."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from envtune_gym.tasks.goals.people import MONTHS
from envtune_gym.tasks.goals.plan import Plan, Thing

__all__ = ["DEEPEST", "Folder", "Setting", "TextFile", "new_tree", "register", "sentence"]

DEEPEST = 4
"""Levels of directories, the root included; no user describes a longer way."""

# fmt: off
_VERBS = (
    "has checked", "will order", "asked about", "wants to replace", "cannot find", "paid for", "has repaired",
    "is waiting for", "signed off", "took photos of", "complained about", "has labelled",
)
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@dataclass(frozen=True, slots=True)
class Setting:
    """What a file system is about.

    Attributes:
        roots: Names of the root directory.
        folders: Names of directories.
        lists: Names of files with items and amounts, without ending.
        logs: Names of files with dated remarks on items.
        minutes: Names of files that say who did what.
        drafts: Names of files that exist in two versions.
        items: What it is about.
        states: What may be said of an item in a log.
        unit: What amounts are counted in.
    """

    roots: tuple[str, ...]
    folders: tuple[str, ...]
    lists: tuple[str, ...]
    logs: tuple[str, ...]
    minutes: tuple[str, ...]
    drafts: tuple[str, ...]
    items: tuple[str, ...]
    states: tuple[str, ...]
    unit: str


_SETTINGS = (
    Setting(
        ("family_drive", "our_house"),
        ("kitchen_papers", "garage", "insurance", "garden", "holidays", "kids", "recipes", "bills", "attic", "pets"),
        ("shopping", "pantry", "toolbox", "packing", "freezer"), ("repairs", "chores", "boiler_book", "meter_readings"),
        ("family_meeting", "neighbour_talks", "landlord_calls"), ("letter_to_landlord", "house_rules", "party_invite"),
        ("kettle", "ladder", "bathtub", "carpet", "mailbox", "oven", "curtains", "fuse box", "bicycle", "stroller"),
        ("leaks", "works again", "needs paint", "was cleaned", "is broken"), "pieces",
    ),
    Setting(
        ("course_files", "biology_course"),
        ("lectures", "homework", "exams", "seminar", "lab_sheets", "reading", "excursions", "handouts", "grading"),
        ("seating", "borrowed_books", "materials", "quiz_points"), ("attendance", "office_hours", "greenhouse_book"),
        ("tutor_meeting", "course_council", "feedback_round"), ("syllabus", "exam_sheet", "excursion_guide"),
        ("microscope", "herbarium", "textbook", "projector", "worksheet", "aquarium", "poster", "beaker", "skeleton"),
        ("was returned", "is missing", "is overdue", "was handed out", "is damaged"), "copies",
    ),
    Setting(
        ("newsroom", "city_desk"),
        ("features", "sports_pages", "interviews", "pictures", "weekend_issue", "court_news", "layout"),
        ("phone_numbers", "print_runs", "word_limits", "photo_credits"), ("corrections", "deadlines", "tips_hotline"),
        ("morning_conference", "editors_round", "source_talks"), ("front_page", "harbour_story", "mayor_profile"),
        ("headline", "obituary", "crossword", "cartoon", "weather map", "editorial", "column", "caption", "interview"),
        ("is late", "was cut", "went to print", "needs a check", "was dropped"), "words",
    ),
    Setting(
        ("lab_share", "institute_disk"),
        ("probes", "spectra", "field_trips", "calibration", "methods", "safety", "posters", "grants", "raw_values"),
        ("chemicals", "sample_counts", "glassware", "key_holders"), ("freezer_alarms", "instrument_book", "autoclave"),
        ("group_meeting", "safety_round", "visitor_talks"), ("protocol", "abstract", "cover_letter"),
        ("centrifuge", "pipette", "laser", "incubator", "fume hood", "scale", "sensor", "pump", "filter", "cryostat"),
        ("failed", "passed", "drifts", "was serviced", "is in use"), "units",
    ),
    Setting(
        ("bakery_office", "corner_bakery"),
        ("suppliers", "night_shift", "orders_in", "price_tags", "wedding_cakes", "hygiene", "staff", "market_stall"),
        ("flour_stock", "daily_bread", "cake_orders", "tin_sizes"), ("oven_book", "deliveries", "fridge_checks"),
        ("shift_handover", "tasting_round", "miller_calls"), ("menu_card", "window_sign", "allergy_sheet"),
        ("rye loaf", "brioche", "poppy roll", "cheesecake", "baguette", "pretzel", "muffin", "strudel", "scone"),
        ("sold out", "came late", "was returned", "is fresh", "burned"), "trays",
    ),
    Setting(
        ("theatre_disk", "playhouse"),
        ("costumes", "props", "rehearsals", "tickets", "lighting", "scripts", "tour", "programme", "workshop"),
        ("wig_sizes", "lamp_types", "seat_rows", "props_needed"), ("stage_book", "rehearsal_book", "damage_book"),
        ("director_notes", "crew_meeting", "costume_talks"), ("prologue", "second_act", "programme_text"),
        ("curtain", "spotlight", "throne", "lantern", "trapdoor", "mask", "balcony", "fog machine", "piano", "wig"),
        ("is stuck", "was mended", "is ready", "needs glue", "went missing"), "pieces",
    ),
    Setting(
        ("club_files", "rowing_club"),
        ("boats", "regattas", "members", "training", "boathouse", "sponsors", "youth_team", "season_plans", "fees"),
        ("locker_keys", "boat_weights", "crew_sizes", "medals"), ("damage_reports", "launch_book", "water_levels"),
        ("board_evening", "trainer_round", "youth_council"), ("statutes", "newsletter", "regatta_rules"),
        ("rudder", "oar", "trailer", "life vest", "pontoon", "stopwatch", "canoe", "trophy", "megaphone", "anchor"),
        ("is cracked", "was lent out", "came back", "is sold", "needs varnish"), "boxes",
    ),
    Setting(
        ("bridge_project", "site_office"),
        ("permits", "drawings", "concrete", "surveys", "contracts", "site_photos", "cranes", "weekly_plans", "soil"),
        ("steel_order", "helmet_sizes", "truck_loads", "bolt_stock"), ("site_diary", "crane_checks", "weather_book"),
        ("foremen_round", "client_talks", "safety_walk"), ("tender", "method_statement", "notice_to_residents"),
        ("girder", "railing", "scaffold", "pylon", "excavator", "cable", "joint", "anchor plate", "pump truck"),
        ("is delayed", "was delivered", "was rejected", "is approved", "is rusty"), "tonnes",
    ),
    Setting(
        ("museum_store", "history_museum"),
        ("loans", "restoration", "exhibits", "guided_tours", "gift_shop", "donations", "labels", "climate"),
        ("tour_sizes", "frame_sizes", "shop_stock", "crate_list"), ("humidity_book", "visitor_book", "loan_book"),
        ("curators_round", "donor_talks", "guards_meeting"), ("wall_text", "audio_guide", "press_note"),
        ("amphora", "tapestry", "helmet", "coin tray", "globe", "portrait", "clock", "statue", "sword", "sextant"),
        ("is on loan", "was cleaned", "is cracked", "came back", "was sold"), "pieces",
    ),
    Setting(
        ("vet_practice", "animal_clinic"),
        ("patients", "vaccines", "x_rays", "farm_visits", "boarding", "adoptions", "duty_plans", "invoices_out"),
        ("medicine_stock", "cage_sizes", "food_stock", "owner_phones"), ("night_duty", "weight_book", "cage_book"),
        ("team_breakfast", "farm_calls", "shelter_talks"), ("care_sheet", "adoption_form", "waiting_room_sign"),
        ("parrot", "pony", "tortoise", "beagle", "hamster", "ferret", "donkey", "goat", "kitten", "hedgehog"),
        ("sleeps", "eats again", "was discharged", "has a fever", "was vaccinated"), "grams",
    ),
)
# fmt: on


@dataclass(eq=False, slots=True)
class TextFile:
    """A file as goals keep it in mind.

    Attributes:
        name: Its name.
        folder: Where it lies.
        text: What it says.
        thing: What stands for it in the plan; None for a hidden file.
        dictated: Whether the user has said all of its text.
        shared: Whether a copied directory lists the same file, so that writing to one changes both.
    """

    name: str
    folder: Folder
    text: str
    thing: Thing | None = None
    dictated: bool = False
    shared: bool = False

    @property
    def lines(self) -> list[str]:
        """Its lines."""
        return self.text.splitlines()


@dataclass(eq=False, slots=True)
class Folder:
    """A directory as goals keep it in mind.

    Attributes:
        name: Its name.
        parent: The directory above; None for the root.
        entries: What it holds, by name.
        made_by: Its contents in the configuration, where filler may have been added; None if a goal has made it.
    """

    name: str
    parent: Folder | None
    entries: dict[str, TextFile | Folder] = field(default_factory=dict)
    made_by: dict[str, Any] | None = None

    @property
    def trail(self) -> list[Folder]:
        """The directories from the root to this one."""
        return [*self.parent.trail, self] if self.parent else [self]

    def files(self) -> list[TextFile]:
        """Return the files in it that are not hidden."""
        return [entry for entry in self.entries.values() if isinstance(entry, TextFile) and entry.name[0] != "."]

    def folders(self) -> list[Folder]:
        """Return the directories in it."""
        return [entry for entry in self.entries.values() if isinstance(entry, Folder)]

    def everything(self) -> list[tuple[str, TextFile | Folder]]:
        """Return all that lies below it, with paths from here, parents first."""
        found: list[tuple[str, TextFile | Folder]] = []
        for name, entry in self.entries.items():
            found.append((name, entry))
            if isinstance(entry, Folder):
                found += [(f"{name}/{path}", one) for path, one in entry.everything()]
        return found


def register(plan: Plan, file: TextFile) -> TextFile:
    """Let goals be about a file, and return it."""
    file.thing = plan.give("file", file.name, ("that file",), node=file)
    return file


def sentence(plan: Plan, setting: Setting) -> str:
    """Return a sentence on the setting, as a user may dictate it."""
    return _remark(plan, plan.rng.pick(setting.items))


def _remark(plan: Plan, item: str) -> str:
    """Return a sentence on an item."""
    people = plan.cast.others
    person, verb = divmod(plan.rng.below(len(people) * len(_VERBS)), len(_VERBS))  # one draw is faster than two
    return f"{people[person]} {_VERBS[verb]} the {item}."


def new_tree(plan: Plan) -> tuple[Setting, Folder, dict[str, Any]]:
    """Return a setting, a tree of it, and the configuration that makes the tree."""
    rng = plan.rng
    setting = rng.pick(_SETTINGS)
    writer = _Writer(plan, setting)
    names = rng.sample(setting.folders, rng.between(3, 6))
    root = Folder(rng.pick(setting.roots), None)
    places = [root]
    for name in names:  # most directories lie in the root, others anywhere; so depths differ
        above = root if len(places) < 3 or rng.chance(0.4) else rng.pick(places[1:])
        if len(above.trail) >= DEEPEST:
            above = root
        folder = Folder(name, above)
        above.entries[name] = folder
        places.append(folder)
    bare = rng.pick([folder for folder in places[1:] if not folder.entries]) if rng.chance(0.5) else None
    for folder in places:
        if folder is not bare:
            writer.fill(folder)
    for folder in places[1:]:
        if folder is not bare and rng.chance(0.25):
            hidden = f".{rng.pick(setting.items).replace(' ', '_')}_old"
            folder.entries[hidden] = TextFile(hidden, folder, sentence(plan, setting))
    return setting, root, {root.name: _configuration(root)}


def _configuration(folder: Folder) -> dict[str, Any]:
    contents: dict[str, Any] = {}
    for name, entry in folder.entries.items():
        if isinstance(entry, Folder):
            contents[name] = _configuration(entry)
        else:
            contents[name] = {"type": "file", "content": entry.text}
    folder.made_by = contents
    return {"type": "directory", "contents": contents}


class _Writer:
    """Writes the files of a tree; no name comes twice."""

    def __init__(self, plan: Plan, setting: Setting) -> None:
        self._plan = plan
        self._setting = setting
        self._items = plan.rng.sample(setting.items, len(setting.items))
        self._stock = {
            "list": list(setting.lists),
            "log": list(setting.logs),
            "minutes": list(setting.minutes),
            "draft": list(setting.drafts),
            "reminder": [f"ask_{name.lower()}" for name in plan.cast.others[:4]],
        }

    def fill(self, folder: Folder) -> None:
        """Put one or two texts, some of them in two versions, into a directory."""
        rng = self._plan.rng
        kinds = [kind for kind, stems in self._stock.items() if stems]
        for kind in rng.sample(kinds, min(len(kinds), rng.between(1, 2))):
            stem = self._stock[kind].pop(rng.below(len(self._stock[kind])))
            if kind == "list":
                self._add(folder, stem + rng.pick((".txt", ".csv", f"_{rng.between(2024, 2026)}.txt")), self._list())
            elif kind == "log":
                self._add(folder, stem + rng.pick((".log", ".txt")), self._log())
            elif kind == "minutes":
                ending = rng.pick((".txt", ".md", f"_{rng.pick(MONTHS).lower()}.txt"))
                self._add(folder, stem + ending, self._minutes(8))
            elif kind == "reminder":
                self._add(folder, f"{stem}.txt", self._minutes(1))
            else:
                self._add_versions(folder, stem)

    def _add_versions(self, folder: Folder, stem: str) -> None:
        rng = self._plan.rng
        lines = self._minutes(6)
        first, second = rng.pick((("_v1", "_v2"), ("_old", "_new"), ("_a", "_b"), ("_draft", "_revised")))
        self._add(folder, f"{stem}{first}.txt", lines)
        for place in rng.sample(range(len(lines)), rng.between(1, 2)):
            lines[place] = lines[place].replace(".", rng.pick((" again.", f" on {rng.pick(_DAYS)}.", " at last.")))
        self._add(folder, f"{stem}{second}.txt", lines)

    def _add(self, folder: Folder, name: str, lines: list[str]) -> None:
        folder.entries[name] = register(self._plan, TextFile(name, folder, "\n".join(lines)))

    def _some_items(self, least: int) -> list[str]:
        """Return some different items, in an order that is not the alphabet's."""
        rng = self._plan.rng
        start = rng.below(len(self._items))
        return [*self._items[start:], *self._items[:start]][: rng.between(least, 9)]

    def _list(self) -> list[str]:
        rng = self._plan.rng
        return [f"{item}: {rng.between(2, 96)} {self._setting.unit}" for item in self._some_items(4)]

    def _log(self) -> list[str]:
        rng, states, lines = self._plan.rng, self._setting.states, []
        month, day = rng.pick(MONTHS), rng.between(1, 4)
        for item in self._some_items(5):
            later, state = divmod(rng.below(3 * len(states)), len(states))
            lines.append(f"{day} {month}: {item} {states[state]}")
            day += 1 + later
        return lines

    def _minutes(self, most: int) -> list[str]:
        return [_remark(self._plan, item) for item in self._some_items(min(most, 4))[:most]]
