import {
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isObjectType,
  isSpecifiedDirective,
  isSpecifiedScalarType,
} from 'graphql';
import { describe, expect, test } from 'vitest';
import { openApiDocument } from '../../src/gateway/rest/openapi.ts';
import { routes } from '../../src/gateway/routes.ts';
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
    // Each is given where the type is made: in src/domains, or in src/core for what all share.
    expect(bare.map((name) => `give ${name} a description`)).toEqual([]);
  });

  test('every REST operation tells its summary and errors, and shows an example of its body', () => {
    const { paths } = openApiDocument(routes) as {
      paths: Record<
        string,
        Record<
          string,
          {
            summary?: string;
            responses: object;
            requestBody?: { required: boolean; content: Record<string, { example?: object }> };
          }
        >
      >;
    };
    for (const [path, operations] of Object.entries(paths)) {
      for (const [method, { summary, responses, requestBody }] of Object.entries(operations)) {
        const body = requestBody?.required ? [requestBody.content['application/json']?.example] : [{}];
        expect([method, path, summary, Object.keys(responses), body]).toEqual([
          method,
          path,
          expect.stringMatching(/^[A-Z].+\.$/),
          expect.arrayContaining(['401', '403', '429', '500', '503']),
          [expect.any(Object)],
        ]);
      }
    }
  });
});
