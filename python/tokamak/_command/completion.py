"""tokamak completion: scripts that let a shell complete the command."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any, NamedTuple

from . import native, output

NAME = "completion"
SUMMARY = "print the completion script of a shell"
ABOUT = """Prints a script that completes commands, options and files.

  bash:  source <(tokamak completion bash)                                     in ~/.bashrc
  zsh:   source <(tokamak completion zsh)                                      in ~/.zshrc, after compinit
  fish:  tokamak completion fish > ~/.config/fish/completions/tokamak.fish"""


class _Command(NamedTuple):
    name: str
    summary: str
    options: list[tuple[str, str]]  # each with what it is for
    words: list[str]  # that may follow


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=list(_SCRIPTS), metavar="SHELL", help="bash, zsh or fish")


def run(options: argparse.Namespace) -> None:
    script = _SCRIPTS[options.shell](_commands(options.make_parser()))
    output.print_text(script.removesuffix("\n"))


def _commands(parser: argparse.ArgumentParser) -> list[_Command]:
    subparsers: Any = next(a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    summaries = {action.dest: action.help or "" for action in subparsers._choices_actions}
    found = []
    for name, own in subparsers.choices.items():
        options = [
            (flag, action.help or "")
            for action in own._actions
            for flag in action.option_strings
            if flag.startswith("--")
        ]
        if name in native.COMMANDS:
            options = native.options_of(name)
        words = [choice for action in own._actions for choice in action.choices or ()]
        found.append(_Command(name, summaries[name], options, words))
    return found


def _bash(commands: list[_Command]) -> str:
    cases = "".join(
        f"    {command.name}) words='{' '.join(command.words + [option for option, _ in command.options])}' ;;\n"
        for command in commands
    )
    names = " ".join(command.name for command in commands)
    return f"""# bash completion of tokamak
_tokamak() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} words=
  if [[ $COMP_CWORD -eq 1 ]]; then
    COMPREPLY=($(compgen -W '{names} --help --version' -- "$current"))
    return
  fi
  case ${{COMP_WORDS[1]}} in
{cases}  esac
  if [[ $current == -* ]] || [[ -n $words && $words != -* ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$current"))
  else
    COMPREPLY=($(compgen -f -- "$current"))
  fi
}}
complete -o filenames -F _tokamak tokamak
"""


def _zsh_text(text: str) -> str:
    return text.replace("'", "").replace("[", "(").replace("]", ")").replace(":", ",")


def _zsh(commands: list[_Command]) -> str:
    names = "\n".join(f"    '{command.name}:{_zsh_text(command.summary)}'" for command in commands)
    cases = ""
    for command in commands:
        options = " ".join(f"'{option}[{_zsh_text(about)}]'" for option, about in command.options)
        rest = f"'*: :({' '.join(command.words)})'" if command.words else "'*: :_files'"
        cases += f"    {command.name}) _arguments {options} {rest} ;;\n"
    return f"""#compdef tokamak
_tokamak() {{
  local -a commands=(
{names}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local name=$words[2]
  shift words
  (( CURRENT-- ))
  case $name in
{cases}  esac
}}
compdef _tokamak tokamak
"""


def _fish(commands: list[_Command]) -> str:
    def quoted(text: str) -> str:
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"

    lines = ["# fish completion of tokamak"]
    for command in commands:
        lines.append(
            f"complete -c tokamak -n __fish_use_subcommand -f -a {command.name} -d {quoted(command.summary)}"
        )
        here = f"-n '__fish_seen_subcommand_from {command.name}'"
        for option, about in command.options:
            lines.append(f"complete -c tokamak {here} -l {option[2:]} -d {quoted(about)}")
        for word in command.words:
            lines.append(f"complete -c tokamak {here} -f -a {word}")
    return "\n".join(lines) + "\n"


_SCRIPTS: dict[str, Callable[[list[_Command]], str]] = {"bash": _bash, "zsh": _zsh, "fish": _fish}
