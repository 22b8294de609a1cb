import {
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isObjectType,
  isSpecifiedDirective,
  isSpecifiedScalarType,
} from 'graphql';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { isObject } from '../../src/core/is-object.ts';
import {
  type AnyRoute,
  isKeyless,
  isRaw,
  isWrite,
  outputExample,
  pathParameters,
  takesBody,
} from '../../src/core/http/route.ts';
import { openApiDocument } from '../../src/gateway/rest/openapi.ts';
import { routes } from '../../src/gateway/modules.ts';
import { schema } from '../../src/gateway/schema.ts';

describe('documentation', () => {
  test('every type, field, argument, input field, enum value and directive of the schema has a description', () => {
    const bare: string[] = [];
    const check = (name: string, { description }: { description?: string | null | undefined }) =>
      void (description?.trim() || bare.push(name));
    for (const type of Object.values(schema.getTypeMap())) {
      if (type.name.startsWith('__') || isSpecifiedScalarType(type)) continue;
      check(type.name, type);
      if (isEnumType(type)) for (const value of type.getValues()) check(`${type.name}.${value.name}`, value);
      if (!isObjectType(type) && !isInterfaceType(type) && !isInputObjectType(type)) continue;
      for (const field of Object.values(type.getFields())) {
        check(`${type.name}.${field.name}`, field);
        if ('args' in field) for (const arg of field.args) check(`${type.name}.${field.name}(${arg.name})`, arg);
      }
    }
    for (const directive of schema.getDirectives().filter((known) => !isSpecifiedDirective(known)))
      check(`@${directive.name}`, directive);
    // Descriptions are next to the types: in src/domains, or in src/core for shared types.
    expect(bare.map((name) => `give ${name} a description`)).toEqual([]);
  });

  const document = openApiDocument(routes) as {
    tags: { name: string; description: string }[];
    paths: Record<string, Record<string, { responses: object; tags: string[] }>>;
  };

  const exampleFaults = (route: AnyRoute): unknown[] => {
    const { input, output, examples } = route;
    const needsInput = takesBody(route) && !route.optionalBody;
    if ((needsInput && !examples?.input) || (!output && examples?.output !== undefined))
      return ['an example is missing or not needed'];
    const parameters = Object.fromEntries(pathParameters(route.path).map((name) => [name, PARAMETER]));
    // The body of a raw route is a document of another protocol.
    const inBody = isRaw(route) ? {} : examples?.input;
    const given = inBody && z.safeParse(input, { ...parameters, ...inBody });
    return [
      ...(given?.error?.issues ?? []),
      ...(output ? (z.safeParse(output, outputExample(route)).error?.issues ?? []) : []),
    ];
  };

  test.each(routes.map((route) => [route.operationId, route] as const))(
    '%s has a summary, a description, a described tag, and examples that its schemas accept',
    (_, route) => {
      expect(route.summary).toMatch(/^[A-Z].+\.$/);
      expect(route.description).toMatch(/^[A-Z][^]+\.$/);
      expect(document.tags.find(({ name }) => name === route.tag)?.description).toMatch(/^[A-Z].+\.$/);
      expect(exampleFaults(route)).toEqual([]);
    },
  );

  test('every parameter and every property of a body or an answer has a description, at any depth', () => {
    expect(routes.flatMap(propertiesWithoutDescription)).toEqual([]);
  });

  test('every operation describes the errors that all operations can answer', () => {
    for (const route of routes) {
      const { responses } =
        document.paths[route.path.replaceAll(/:(\w+)/g, '{$1}')]?.[route.method.toLowerCase()] ?? {};
      const ofKeys = isKeyless(route) ? [] : ['401', ...(isWrite(route) ? ['403'] : [])];
      expect(Object.keys(responses ?? {})).toEqual(expect.arrayContaining([...ofKeys, '429', '500', '503']));
    }
  });

  test('openapi.json has the public URL of the gateway as its server', () => {
    expect(openApiDocument(routes, 'https://gateway.example.com/base')).toMatchObject({
      servers: [{ url: 'https://gateway.example.com/base' }],
    });
  });
});

/** The parameters and properties of a route, with those of its components, that have no description. */
function propertiesWithoutDescription(route: AnyRoute): string[] {
  const bare: string[] = [];
  const walk = (place: string, node: unknown): void => {
    if (Array.isArray(node)) for (const item of node) walk(place, item);
    if (!isObject(node)) return;
    for (const [name, value] of Object.entries(node)) {
      const members = membersOf(name, value);
      for (const [member, property] of members) {
        if (!isDescribed(property)) bare.push(`${place}.${member}`);
        walk(`${place}.${member}`, property);
      }
      if (members.length === 0 && name !== 'example') walk(node === schemas ? name : place, value);
    }
  };
  const { paths, components } = openApiDocument([route]) as { paths: object; components: { schemas: object } };
  const { schemas } = components;
  walk(route.operationId, paths);
  walk(route.operationId, schemas);
  return bare.map((name) => `${route.operationId}: ${name}`);
}

/** The properties of an object schema, or the parameters of an operation. */
function membersOf(name: string, value: unknown): [string, unknown][] {
  if (name === 'properties' && isObject(value)) return Object.entries(value);
  if (name !== 'parameters' || !Array.isArray(value)) return [];
  return value.map((parameter: { name: string }) => [parameter.name, parameter]);
}

/** A reference is described by what it refers to. */
function isDescribed(property: unknown): boolean {
  return isObject(property) && ['description', '$ref'].some((key) => typeof property[key] === 'string');
}

/** A value that every path parameter accepts. */
const PARAMETER = '0c2f8f0e-5a0f-4c0c-9a5e-2f1d6b7c8a10';
