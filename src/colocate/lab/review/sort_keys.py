"""What a program sorts and chooses by, with names that do not depend on its author."""

import ast
from collections.abc import Iterator

from colocate.arena.source.program_tree import expression_tree
from colocate.lab.review.code_names import dotted
from colocate.lab.review.mechanism import Role

LONGEST_KEY = 50
"""Letters of a key: a sentence holds several of them."""
MOST_KEYS = 4
"""Keys of a sort that has several, one after the other."""
ITEM = "x"
"""What the argument of a key is called."""
CASTS = frozenset({"float", "int", "abs"})
SORTS = frozenset({"sorted", "sort", "nlargest", "nsmallest", "argsort"})
PICKS = {"min": "take the least", "max": "take the most"}


class OrderFinder:
    """Spells the keys of a program's sorts and choices."""

    def __init__(self, tree: ast.Module) -> None:
        self._returns = {
            node.name: (node.args.args[0].arg, node.body[-1].value)
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef)
            and len(node.args.args) == 1
            and isinstance(node.body[-1], ast.Return)
            and node.body[-1].value is not None
            and all(isinstance(each, ast.Expr) for each in node.body[:-1])
        }
        self._given = given_keys(tree)

    def of(self, call: ast.Call) -> Iterator[tuple[Role, str, str]]:
        """Yield what a call sorts or chooses by, if it does."""
        name = dotted(call.func).rpartition(".")[2]
        if isinstance(call.func, ast.Attribute):
            name = call.func.attr
        given = {keyword.arg: keyword.value for keyword in call.keywords}
        key = given.get("key")
        if name in SORTS:
            down = _is_true(given.get("reverse")) or name == "nlargest"
            text, minus = self._spelt(key) if key else ("value", False)
            yield Role.ORDER, "sort", f"{text}, {'descending' if down != minus else 'ascending'}"
        elif name in PICKS and key:
            text, minus = self._spelt(key)
            names = list(PICKS.values())[:: -1 if minus else 1]
            yield Role.CHOICE, names[name == "max"], text

    def _spelt(self, key: ast.expr) -> tuple[str, bool]:
        """Return a key as text, and whether it is turned round by a minus sign."""
        argument, body = self._body(key)
        if body is None:
            known = self._given.get(key.id, []) if isinstance(key, ast.Name) else []
            spelt = list(dict.fromkeys(self._spelt(each)[0] for each in known[:MOST_KEYS]))
            text = " or ".join(spelt) or dotted(key).removesuffix(".__getitem__") or "a key"
            return _short(text), False
        minus = isinstance(body, ast.UnaryOp) and isinstance(body.op, ast.USub)
        inner = body.operand if isinstance(body, ast.UnaryOp) and minus else body
        if isinstance(inner, ast.Tuple):
            return _short(" then ".join(self._text(each, argument) for each in inner.elts)), minus
        return _short(self._text(inner, argument)), minus

    def _body(self, key: ast.expr) -> tuple[str, ast.expr | None]:
        if isinstance(key, ast.Lambda) and key.args.args:
            return key.args.args[0].arg, key.body
        if isinstance(key, ast.Name) and key.id in self._returns:
            return self._returns[key.id]
        return "", None

    def _text(self, node: ast.expr, argument: str) -> str:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            one = len(node.args) == 1 and isinstance(node.args[0], ast.Name)
            if one and node.func.id in self._returns and _is(node.args[0], argument):
                inner, body = self._returns[node.func.id]
                if node.func.id not in {n.id for n in ast.walk(body) if isinstance(n, ast.Name)}:
                    return self._text(body, inner)
        try:
            return ast.unparse(_Plain(argument).visit(_copied(node)))
        except (MemoryError, RecursionError, SyntaxError, ValueError):
            return "a long key"


def given_keys(tree: ast.Module) -> dict[str, list[ast.expr]]:
    """Return the keys without a name that a parameter stands for, by the name of the parameter.

    A call passes them to a function of the program, itself or from a loop over several.
    """
    nodes = list(ast.walk(tree))
    looped: dict[str, list[ast.expr]] = {}
    for node in nodes:
        loops = isinstance(node, ast.For | ast.comprehension)
        if loops and isinstance(node.target, ast.Name):  # type: ignore[attr-defined]
            elements = getattr(node.iter, "elts", ())  # type: ignore[attr-defined]
            keys = [each for each in elements if isinstance(each, ast.Lambda)]
            looped.setdefault(node.target.id, []).extend(keys)  # type: ignore[attr-defined]
    functions = {
        node.name: [each.arg for each in node.args.args]
        for node in nodes
        if isinstance(node, ast.FunctionDef)
    }
    found: dict[str, list[ast.expr]] = {}
    for node in nodes:
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            continue
        names = functions.get(node.func.id, [])
        passed = [*zip(names, node.args, strict=False)]
        passed += [(each.arg, each.value) for each in node.keywords if each.arg in names]
        for name, value in passed:
            direct = [value] if isinstance(value, ast.Lambda) else []
            loop = looped.get(value.id, []) if isinstance(value, ast.Name) else []
            found.setdefault(name, []).extend([*direct, *loop])
    return found


class _Plain(ast.NodeTransformer):
    """Writes `m.size`, `m["size"]` and `getattr(m, "size")` as `size`, and `m` as `x`."""

    def __init__(self, argument: str) -> None:
        self._argument = argument

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """Leave out the item that an attribute is of."""
        if _is(node.value, self._argument):
            return ast.Name(node.attr)
        return self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """Leave out the item that a text picks from."""
        text = isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str)
        if text and _is(node.value, self._argument):
            return ast.Name(node.slice.value)  # type: ignore[attr-defined]
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Leave out casts, and the item that an attribute is of."""
        name = dotted(node.func)
        if name == "getattr" and len(node.args) > 1 and _is(node.args[0], self._argument):
            asked = node.args[1]
            return ast.Name(str(asked.value)) if isinstance(asked, ast.Constant) else node
        if name in CASTS and len(node.args) == 1:
            return self.visit(node.args[0])  # type: ignore[no-any-return]
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """Call the item `x`."""
        return ast.Name(ITEM) if node.id == self._argument else node


def _copied(node: ast.expr) -> ast.expr:
    """Return an expression of its own, which may be changed."""
    return expression_tree(ast.unparse(node))


def _is(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _is_true(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is True


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_KEY else f"{text[: LONGEST_KEY - 3]}..."
