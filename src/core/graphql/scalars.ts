import { type ConstValueNode, GraphQLError, Kind, type ValueNode } from 'graphql';
import { z } from 'zod';
import { builder } from './builder.ts';
import { exactNumber } from '../text/exact-json.ts';
import { toIsoString } from '../text/timestamps.ts';
import { isUuid } from '../ids.ts';

/** A scalar whose input is text, in variables and in literals. */
function textual(name: string, isValid: (text: string) => boolean, hint: string) {
  const parse = (value: unknown, nodes?: ValueNode): string => {
    if (typeof value !== 'string' || !isValid(value)) throw new GraphQLError(`${name} must be ${hint}`, { nodes });
    return value;
  };
  return {
    parseValue: (value: unknown) => parse(value),
    parseLiteral: (node: ValueNode) => parse(node.kind === Kind.STRING ? node.value : undefined, node),
  };
}

// Only the patterns, because the schemas around them cost a tenth of the time of a batch, which has two thousand of these values.
const DATE_TIME = z.regexes.datetime({ offset: true });
const DATE = z.regexes.date;

builder.scalarType('DateTime', {
  description: 'A time in ISO 8601, in UTC with milliseconds: `2026-03-01T10:20:30.500Z`. Input may have any offset.',
  specifiedByURL: 'https://scalars.graphql.org/andimarek/date-time.html',
  serialize: (value) => toIsoString(value),
  ...textual('DateTime', (text) => DATE_TIME.test(text), 'an ISO 8601 date and time, such as 2026-03-01T10:20:30.500Z'),
});

builder.scalarType('Date', {
  description: 'A calendar day in UTC: `2026-03-01`.',
  specifiedByURL: 'https://scalars.graphql.org/andimarek/local-date.html',
  serialize: (value) => value,
  ...textual('Date', (text) => DATE.test(text), 'a day, such as 2026-03-01'),
});

builder.scalarType('UUID', {
  description: 'A UUID in its hyphenated form (RFC 9562): the id that REST uses.',
  specifiedByURL: 'https://www.rfc-editor.org/rfc/rfc9562',
  serialize: (value) => value,
  ...textual('UUID', isUuid, 'a UUID'),
});

builder.scalarType('DatabaseId', {
  description:
    'The id that REST uses: a UUID as text; for events and entries of sessions and entries of the feed, their number; for subagents, the name that the agent gave them. Inputs take it as an `ID`.',
  serialize: (value) => value,
});

builder.scalarType('URL', {
  description:
    'An absolute URL (WHATWG URL Standard). As input any text is accepted: the mutation reports an invalid URL in a `ValidationError`.',
  specifiedByURL: 'https://url.spec.whatwg.org/',
  serialize: (value) => value,
  ...textual('URL', () => true, 'text'),
});

builder.scalarType('JSON', {
  description: 'Any JSON value (RFC 8259).',
  specifiedByURL: 'https://www.rfc-editor.org/rfc/rfc8259',
  serialize: (value) => value,
  parseValue: (value) => value,
  coerceInputValue: (value) => value,
  coerceInputLiteral: jsonOf,
});

/** The value of a literal. Its numbers are as exact as those of variables. */
function jsonOf(node: ConstValueNode): unknown {
  switch (node.kind) {
    case Kind.INT:
    case Kind.FLOAT:
      return exactNumber(node.value);
    case Kind.LIST:
      return node.values.map(jsonOf);
    case Kind.OBJECT:
      return Object.fromEntries(node.fields.map(({ name, value }) => [name.value, jsonOf(value)]));
    case Kind.NULL:
      return null;
    default:
      return node.value;
  }
}

builder.scalarType('BigInt', {
  description: 'An integer that may exceed 32 bits, as a decimal string.',
  specifiedByURL: 'https://scalars.graphql.org/apollographql/big-int.html',
  serialize: (value) => String(value),
  ...textual('BigInt', (text) => /^-?\d{1,19}$/.test(text), 'a whole number as a decimal string'),
});
