"""``undwarf doctor``"""

import sys

import click


@click.command(
    "doctor",
    epilog="""\b
Examples:
  undwarf doctor
  undwarf doctor --json""",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(as_json: bool) -> None:
    """Check what this machine offers: perf events, debug files, caches. Uses no network."""
    from undwarf.system.doctor import examine

    findings = examine()
    if as_json:
        from undwarf.outputs.doctor import write_json

        write_json(findings, sys.stdout)
        return
    marks = {
        "good": click.style("ok  ", fg="green"),
        "note": click.style("note", fg="yellow"),
        "bad": click.style("bad ", fg="red"),
    }
    for finding in findings:
        click.echo(f"{marks[finding.state]}  {finding.what}: {finding.fact}")
        if finding.advice:
            click.echo(f"      → {finding.advice}")
