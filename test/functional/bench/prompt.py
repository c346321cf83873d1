"""Where testpmd asks for the next command.

Its command line writes the prompt one character at a time. Another thread may log between any two of them, as in
"testpmdVHOST_CONFIG: virtio is now ready for processing.\\n> ".
"""

import re

PROMPT = "testpmd> "
_LINES = r"((?:[^\n]*\n){0,4}?)"  # whole lines, and the end of one
_SPLIT = re.compile(_LINES.join(map(re.escape, PROMPT)))


def before_prompt(text):
    """What stands before the first prompt in `text`, with the lines that split it; None when there is no prompt yet."""
    head, prompt, _ = text.partition(PROMPT)
    if prompt:
        return head
    found = _SPLIT.search(text)
    return text[:found.start()] + "".join(found.groups()) if found else None
