// Our own lint rules, a plugin of oxlint.

/** What the rules read of a node of the syntax tree (https://github.com/estree/estree). */
interface Node {
  readonly type: string;
  readonly parent?: Node;
  readonly name?: string;
  readonly argument?: Node;
  readonly arguments?: readonly Node[];
  readonly callee?: Node;
  readonly object?: Node;
  readonly property?: Node;
  readonly params?: readonly Node[];
  readonly typeAnnotation?: Node;
  readonly typeName?: Node;
}

interface Context {
  report(fault: { readonly node: Node; readonly message: string }): void;
}

const MESSAGE =
  'A list of any length as arguments ends the process with a RangeError. Pass the list itself, or use a loop. Only rest parameters and constants may be spread.';

/**
 * The arguments of a call are limited by the stack, about 120,000. A list is bounded if it is a rest parameter, which a checked call has filled,
 * or a constant of the code; and so is what `map` makes of it.
 */
const noUnboundedArguments = {
  create: (context: Context) => ({
    SpreadElement(node: Node) {
      const { parent, argument } = node;
      if (parent?.arguments?.includes(node) === true && !isBounded(argument))
        context.report({ node, message: MESSAGE });
    },
    CallExpression(node: Node) {
      const [, list] = node.arguments ?? [];
      if (node.callee?.property?.name === 'apply' && list && !isBounded(list))
        context.report({ node, message: MESSAGE });
    },
  }),
};

function isBounded(list: Node | undefined): boolean {
  if (list?.type === 'CallExpression') return list.callee?.property?.name === 'map' && isBounded(list.callee.object);
  if (list?.type === 'MemberExpression') return isConstant(rootOf(list));
  return list?.type === 'Identifier' && (isConstant(list) || isRestParameter(list));
}

function rootOf({ object }: Node): Node | undefined {
  return object?.type === 'MemberExpression' ? rootOf(object) : object;
}

function isConstant(node: Node | undefined): boolean {
  return node?.type === 'Identifier' && /^[A-Z][A-Z_]*$/.test(node.name ?? '');
}

function isRestParameter({ name, parent }: Node): boolean {
  for (let node = parent; node; node = node.parent)
    for (const parameter of node.params ?? []) {
      if (parameter.type === 'RestElement' && parameter.argument?.name === name) return true;
      // The parameters of another function, such as a hook gets them.
      if (parameter.name === name) return parameter.typeAnnotation?.typeAnnotation?.typeName?.name === 'Parameters';
    }
  return false;
}

const SILENT =
  'Call skip(condition, reason) in the test or in beforeEach: a run ends with the reasons of the tests that it skipped.';
const CONDITIONS = new Set(['UnaryExpression', 'BinaryExpression', 'LogicalExpression']);

/** A test is skipped with a reason. */
const noSilentSkip = {
  create: (context: Context) => ({
    MemberExpression(node: Node) {
      if (/^(?:skipIf|runIf)$/.test(node.property?.name ?? '')) context.report({ node, message: SILENT });
    },
    CallExpression(node: Node) {
      const [condition, reason] = node.arguments ?? [];
      const isSilent = reason === undefined && (condition === undefined || CONDITIONS.has(condition.type));
      if (node.callee?.name === 'skip' && isSilent) context.report({ node, message: SILENT });
    },
  }),
};

export default {
  meta: { name: 'own' },
  rules: { 'no-silent-skip': noSilentSkip, 'no-unbounded-arguments': noUnboundedArguments },
};
