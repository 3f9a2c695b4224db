"""The form in languages with a decimal comma: what it reads, shows back, asks again and says."""

import pytest
from pages import (
    CHROMIUM,
    UNSTOPPED,
    asked,
    choose,
    fill,
    kept,
    opened_pages,
    outcome,
    started_browser,
)

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="Chromium isn't installed: apt-get install chromium"
)
SAID = {
    "de": {
        "none": "nichts davon",
        "next": "Nächste Frage: Serum lactate, in mmol/L (Eingabe B)",
        "read": "gelesen als 4,5",
        "between": "gelesen als 4,1234",
        "doubt": "kann 1,234 oder 1234 sein. Schreiben Sie 1,2340 oder 1234.",
        "round": "kann 4 oder 4000 sein. Schreiben Sie 4 oder 4000.",
        "outside": "30,5 liegt außerhalb von 0,1 bis 30: Wert und Einheit prüfen.",
        "range": "von 0,1 bis 30",
        "thousands": "Schreiben Sie kein Zeichen zwischen Tausendern.",
        "no": "nein (false)",
        "result": "R15: “ward”",
        "because": "denn Serum lactate ist 4,5, also 4 oder mehr, und On oxygen ist nein (false)",
        "print": "Diesen Fall drucken",
        "missing": "nicht gemessen: ask for it now",
        "stop": "Halt: zuerst Serum lactate messen",
    },
    "fr": {
        "none": "aucun",
        "next": "Question suivante\u00a0: Serum lactate, en mmol/L (entrée B)",
        "read": "lu comme 4,5",
        "between": "lu comme 4,1234",
        "doubt": "peut être 1,234 ou 1234. Écrivez 1,2340 ou 1234.",
        "round": "peut être 4 ou 4000. Écrivez 4 ou 4000.",
        "outside": "30,5 est en dehors de 0,1 à 30\u00a0: vérifier la valeur et l’unité.",
        "range": "de 0,1 à 30",
        "thousands": "N’écrivez aucun signe entre les milliers.",
        "no": "non (false)",
        "result": "R15\u00a0: “ward”",
        "because": "car Serum lactate est 4,5, donc 4 ou plus, et On oxygen est non (false)",
        "print": "Imprimer ce cas",
        "missing": "non mesuré\u00a0: ask for it now",
        "stop": "Arrêt\u00a0: mesurer d’abord Serum lactate",
    },
    "es": {
        "none": "nada de esto",
        "next": "Siguiente pregunta: Serum lactate, en mmol/L (entrada B)",
        "read": "leído como 4,5",
        "between": "leído como 4,1234",
        "doubt": "puede ser 1,234 o 1234. Escriba 1,2340 o 1234.",
        "round": "puede ser 4 o 4000. Escriba 4 o 4000.",
        "outside": "30,5 está fuera de 0,1 a 30: compruebe el valor y la unidad.",
        "range": "de 0,1 a 30",
        "thousands": "No escriba ningún signo entre los millares.",
        "no": "no (false)",
        "result": "R15: “ward”",
        "because": "porque Serum lactate es 4,5, o sea, 4 o más, y On oxygen es no (false)",
        "print": "Imprimir este caso",
        "missing": "no medido: ask for it now",
        "stop": "Alto: mida primero Serum lactate",
    },
}


@pytest.fixture(scope="module")
def browser():
    yield from started_browser()


@pytest.fixture(scope="module")
def view(browser, tmp_path_factory):
    yield from opened_pages(browser, tmp_path_factory.mktemp("page"))


def opened(view, language, **more):
    page = view(kept("mixed"), UNSTOPPED | {"language": language} | more, excluded=True)
    page.get_by_label(SAID[language]["none"], exact=True).check()
    return page


@pytest.mark.parametrize("language", SAID)
def test_the_form_reads_and_shows_a_decimal_comma(view, language):
    said, page = SAID[language], opened(view, language)
    assert page.locator("html").get_attribute("lang") == language
    assert outcome(page) == said["next"]
    field = asked(page)
    assert field.locator("[id$=-range]").inner_text() == said["range"]
    for text in ("4,5", "4.5", "4,50"):
        field.get_by_role("textbox").fill(text)
        assert field.locator("[id$=-read]").inner_text() == said["read"]
    choose(page, said["no"])
    assert outcome(page) == said["result"]
    assert page.locator("#reason").inner_text().split("\n")[0] == said["because"]
    page.evaluate("window.print = () => {}")
    page.get_by_role("button", name=said["print"]).click()
    cells = page.locator("#record tbody tr").nth(1).locator("td").all_inner_texts()
    assert cells == ["Serum lactate, " + said["next"].split(", ")[1].split(" (")[0], "4,5"]


@pytest.mark.parametrize("language", SAID)
def test_the_form_asks_back_where_a_sign_may_part_thousands(view, language):
    said, page = SAID[language], opened(view, language)
    field = asked(page)
    for text, answer in (
        ("1,234", said["doubt"]),
        ("1.234", said["doubt"]),
        ("4,000", said["round"]),
        ("4.000", said["round"]),
        ("1.234,5", said["thousands"]),
        ("30,5", said["outside"]),
    ):
        fill(page, text)
        assert field.get_by_role("alert").inner_text().endswith(answer), text
    fill(page, "4,1234")
    assert field.get_by_role("alert").inner_text() == ""
    assert field.locator("[id$=-read]").inner_text() == said["between"]


@pytest.mark.parametrize("language", SAID)
def test_the_form_stops_in_the_sheets_language(view, language):
    said = SAID[language]
    lactate = {"range": [0.1, 30], "missing": {"stop": "ask for it now"}}
    page = opened(view, language, features=UNSTOPPED["features"] | {"lactate": lactate})
    choose(page, said["missing"])
    assert outcome(page) == said["stop"]
    assert page.locator("#reason").inner_text() == "ask for it now"
