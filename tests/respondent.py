"""A survey with all that a page can ask, in three languages, one of them from right to left."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from ldpopt import Survey

ARABIC: dict[str, str] = tomllib.loads(
    (Path(__file__).parent / "browser" / "ar.toml").read_text("utf-8")
)
LINK = f"#i={'a' * 32}&region=North"
TOML = """
title = { en = "Health and trust", de = "Gesundheit und Vertrauen", ar = "الصحة والثقة" }
epsilon = 6.0
missing = "answer"

[form]
languages = ["en", "de", "ar"]
to = "reports"
contact = "Institute for Health, survey@example.org"
until = 2027-03-31

[form.consent]
en = "I have read what happens with my answers, and take part of my own free will."
de = "Ich habe gelesen, was mit meinen Antworten geschieht, und mache freiwillig mit."
ar = "قرأت ما يحدث لإجاباتي وأشارك بإرادتي الحرة."

[form.retention]
en = "The reports are deleted on 2030-12-31."
de = "Die Meldungen werden am 31.12.2030 gelöscht."
ar = "تُحذف التقارير في 2030-12-31."

[form.sections]
habits = { en = "Your habits", de = "Ihre Gewohnheiten", ar = "عاداتك" }
person = { en = "About you", de = "Über Sie", ar = "عنك" }
trust = { en = "Trust", de = "Vertrauen", ar = "الثقة" }

[field.region]
labels = ["North", "South"]
text = { en = "Region", de = "Region", ar = "المنطقة" }
answers.North = { en = "North", de = "Nord", ar = "الشمال" }

[question.smokes]
labels = ["no", "yes", "no answer"]
section = "habits"
text = { en = "Do you smoke?", de = "Rauchen Sie?", ar = "هل تدخن؟" }
answers.no = { en = "No", de = "Nein", ar = "لا" }
answers.yes = { en = "Yes", de = "Ja", ar = "نعم" }

[question.cigarettes]
labels = ["few", "many", "no answer"]
only_if = { smokes = "yes" }
text = { en = "How many cigarettes?", de = "Wie viele Zigaretten?", ar = "كم سيجارة؟" }
answers.few = { en = "Up to ten a day", de = "Bis zehn am Tag", ar = "حتى عشر في اليوم" }
answers.many = { en = "More than ten", de = "Mehr als zehn", ar = "أكثر من عشر" }

[question.used]
ticks = ["alcohol", "cannabis"]
text = { en = "Which of these have you used?", de = "Was davon nehmen Sie?", ar = "أي من هذه؟" }
answers.alcohol = { en = "Alcohol", de = "Alkohol", ar = "الكحول" }
answers.cannabis = { en = "Cannabis", de = "Cannabis", ar = "القنب" }

[question.age]
number = { least = 18, most = 99 }
workload = "mean"
missing = "refuse"
section = "person"
text = { en = "How old are you?", de = "Wie alt sind Sie?", ar = "كم عمرك؟" }

[question.children]
number = { starts = [0, 1, 3], most = 9 }
missing = "leave"
text = { en = "How many children?", de = "Wie viele Kinder?", ar = "كم طفلاً؟" }

[matrix.trust]
labels = ["none", "some", "much", "no answer"]
section = "trust"
text = { en = "How much do you trust …?", de = "Wie sehr vertrauen Sie …?", ar = "كم تثق بـ …؟" }
answers.none = { en = "Not at all", de = "Gar nicht", ar = "لا أثق" }
answers.some = { en = "Somewhat", de = "Etwas", ar = "بعض الشيء" }
answers.much = { en = "Very much", de = "Sehr", ar = "كثيراً" }
[matrix.trust.rows]
police = { en = "the police", de = "der Polizei", ar = "الشرطة" }
courts = { en = "the courts", de = "den Gerichten", ar = "المحاكم" }
media = { en = "newspapers", de = "den Zeitungen", ar = "الصحف" }
"""


@cache
def whole_survey() -> Survey:
    """The survey with everything."""
    words = "\n".join(f"{key} = {json.dumps(text)}" for key, text in ARABIC.items())
    return Survey.from_toml(TOML + f"\n[form.words.ar]\n{words}\n")
