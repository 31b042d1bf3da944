"""Prints the equations of COPASI, lmfit and astropy, a line of JSON each; needs all three.

Only `grammar_counts` runs it, with an interpreter that has these packages, and keeps counts alone.
"""

from __future__ import annotations

import ast
import inspect
import json
from typing import Any


def main() -> None:
    """Print an object for each equation: its list, text, variables, and constants."""
    for equation in (*rate_laws(), *functions()):
        print(json.dumps(equation))


def rate_laws() -> list[dict[str, Any]]:
    """Return the rate laws of COPASI, with substances as variables."""
    import COPASI  # noqa: PLC0415 - not in the project's environment

    known = COPASI.CRootContainer.getFunctionList().loadedFunctions()
    laws = []
    for i in range(known.size()):
        law = known.get(i)
        of_law = law.getVariables()
        usage = {}
        for k in range(of_law.size()):
            parameter = of_law.getParameter(k)
            usage[parameter.getObjectName()] = parameter.getUsage()
        constants = [
            name for name, how in usage.items() if how == COPASI.CFunctionParameter.Role_PARAMETER
        ]
        others = [name for name in usage if name not in constants]
        text = law.getInfix().replace("^", "**")
        laws.append({"list": "copasi", "text": text, "variables": others, "constants": constants})
    return laws


def functions() -> list[dict[str, Any]]:
    """Return the functions of lmfit and astropy, with x and y as variables."""
    from astropy.modeling import functional_models, powerlaws  # noqa: PLC0415 - the same
    from lmfit import lineshapes  # noqa: PLC0415 - the same

    bodies = [
        (name, node)
        for name, module in (
            ("lmfit", lineshapes),
            ("astropy", functional_models),
            ("astropy", powerlaws),
        )
        for node in ast.walk(ast.parse(inspect.getsource(module)))
        if isinstance(node, ast.FunctionDef) and (name == "lmfit" or node.name == "evaluate")
    ]
    listed = []
    for name, node in bodies:
        arguments = [
            argument.arg for argument in node.args.args if argument.arg not in {"self", "cls"}
        ]
        if (text := _returned(node)) is not None and "x" in arguments:
            variables = [each for each in arguments if each in {"x", "y", "r"}]
            constants = [each for each in arguments if each not in variables]
            listed.append(
                {"list": name, "text": text, "variables": variables, "constants": constants}
            )
    return listed


def _returned(function: ast.FunctionDef) -> str | None:
    """Return what a function of plain arithmetic returns, with its locals put in."""
    known: dict[str, ast.expr] = {}
    for line in function.body:
        match line:
            case ast.Expr():
                continue
            case ast.Assign(targets=[ast.Name(id=name)]):
                known[name] = _Plain(known).visit(line.value)
            case ast.Return(value=value) if value is not None:
                return ast.unparse(_Plain(known).visit(value))
            case _:
                return None
    return None


class _Plain(ast.NodeTransformer):
    """Puts locals in, and leaves out guards against division by zero and ``np.``."""

    def __init__(self, known: dict[str, ast.expr]) -> None:
        self.known = known

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.known.get(node.id, node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        of_numpy = isinstance(node.value, ast.Name) and node.value.id == "np"
        return ast.Name(node.attr) if of_numpy else node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        call = self.generic_visit(node)
        assert isinstance(call, ast.Call)
        if isinstance(call.func, ast.Name) and call.func.id == "max" and len(call.args) == 2:  # noqa: PLR2004
            return call.args[1]
        if isinstance(call.func, ast.Name) and call.func.id == "not_zero":
            return call.args[0]
        return call


if __name__ == "__main__":
    main()
