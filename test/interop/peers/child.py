"""Child processes with a log, ended by their pids, that never outlive the tests."""

import subprocess

from bench.wait import until


class Child:
    """Started at once; `log` gets all that it prints."""

    def __init__(self, log, *args, env=None, stdin=subprocess.DEVNULL):
        self.log_path = log
        self.name = log.stem
        with open(log, "ab") as out:
            self.process = subprocess.Popen(
                # Whatever happens to the tests, no switch goes on polling.
                ["setpriv", "--pdeathsig", "KILL", *map(str, args)], stdin=stdin, stdout=out,
                stderr=subprocess.STDOUT, env=env)

    @property
    def pid(self):
        return self.process.pid

    def alive(self):
        return self.process.poll() is None

    def log(self):
        return self.log_path.read_text(errors="replace")

    def until(self, condition, what, seconds=15.0):
        """Waits for a condition; fails at once when the process ends meanwhile."""
        def check():
            got = condition()
            assert got or self.alive(), f"{self.name} ended with {self.process.returncode} before {what}; {self.tail()}"
            return got

        return until(check, lambda: f"{what}; {self.tail()}", seconds)

    def tail(self, lines=15):
        return f"end of {self.log_path}:\n" + "\n".join(self.log().splitlines()[-lines:])

    def wait(self, seconds=15.0):
        """Its exit code, once it was asked to end."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"{self.name} does not end within {seconds:g} s; {self.tail()}") from None

    def kill(self):
        """As a crash would; does nothing when it has ended already."""
        self.process.kill()
        self.process.wait()


class Peer:
    """Context manager around children. A subclass has start(), which starts them, and kill_all(), which ends
    what of them is still there, as a crash would."""

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.kill_all()
            raise
        return self

    def __exit__(self, *_):
        self.kill_all()


def listens(pid, path):
    """Whether a socket with this path accepts connections, in the network namespace of the process."""
    accepting = 0x10000  # __SO_ACCEPTCON
    with open(f"/proc/{pid}/net/unix", encoding="ascii", errors="replace") as table:
        fields = [line.split() for line in table]
    return any(f[-1] == str(path) and int(f[3], 16) & accepting for f in fields[1:])
