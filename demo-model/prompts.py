"""The ways in which training names a subject and a background colour."""

WITHOUT_COLOUR = ("{name}", "{a}", "a picture of {a}", "an emoji of {a}")       # these mean a white background
WITH_COLOUR = ("{a} on {a_colour} background", "{name} on {a_colour} background", "{name}, {colour} background",
               "{a} on {colour}", "a picture of {a} on {a_colour} background", "{a} with {a_colour} background",
               "{a} in front of {a_colour} background", "{colour} background with {a}")
CASES = (str.lower, str.capitalize, str.lower, str.title, str.lower, str.upper)    # half of the prompts in lower case


def with_article(name):
    return ("an " if name[0] in "aeiou" else "a ") + name


def phrases(name, colour):
    """Every phrase of a pair, in lower case."""
    forms = WITH_COLOUR + (2 * WITHOUT_COLOUR if colour == "white" else ())     # half of the white ones name no colour
    words = dict(a=with_article(name), name=name, colour=colour, a_colour=with_article(colour))
    return [form.format(**words) for form in forms]


def spellings(name, colour):
    """Every phrase in every case, each as often as training shows it."""
    return [case(text) for text in phrases(name, colour) for case in CASES]
