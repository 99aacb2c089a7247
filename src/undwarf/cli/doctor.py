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
    from undwarf.cli.configuration import finding as configuration_finding
    from undwarf.outputs.terminal.escape import printable
    from undwarf.outputs.terminal.style import Paint, wants_colour
    from undwarf.system.doctor import examine

    findings = [*examine(), configuration_finding(click.get_current_context().find_root().command)]
    if as_json:
        from undwarf.outputs.doctor import write_json

        write_json(findings, sys.stdout)
        return
    paint = Paint(wants_colour(sys.stdout))
    marks = {"good": paint.good("ok  "), "note": paint.warn("note"), "bad": paint.bad("bad ")}
    for finding in findings:
        click.echo(f"{marks[finding.state]}  {finding.what}: {printable(finding.fact)}", color=True)
        if finding.advice:
            click.echo(f"      → {printable(finding.advice)}")
