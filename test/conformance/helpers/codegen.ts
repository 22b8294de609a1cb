import { readFile, writeFile } from 'node:fs/promises';
import { codegen } from '@graphql-codegen/core';
import * as typedDocumentNode from '@graphql-codegen/typed-document-node';
import * as typescript from '@graphql-codegen/typescript';
import * as typescriptOperations from '@graphql-codegen/typescript-operations';
import { parse } from 'graphql';
import { SCHEMA } from './apps.ts';

const PLUGINS = {
  typescript,
  'typescript-operations': typescriptOperations,
  'typed-document-node': typedDocumentNode,
};

const CONFIG = {
  scalars: {
    DatabaseId: 'string | number',
    Date: 'string',
    DateTime: 'string',
    UUID: 'string',
    URL: 'string',
    BigInt: 'string',
    JSON: 'unknown',
  },
  strictScalars: true,
  enumsAsTypes: true,
  useTypeImports: true,
};

/** Writes the code that the plugins generate from the schema and from the operations of another file. */
export async function generateTypes(
  filename: string,
  operations: string,
  plugins: readonly string[],
  config: object = CONFIG,
): Promise<void> {
  const schema = parse(await readFile(SCHEMA, 'utf8'));
  const documents = [{ location: operations, document: parse(await readFile(operations, 'utf8')) }];
  const chosen = plugins.map((name) => ({ [name]: {} }));
  await writeFile(
    filename,
    await codegen({ filename, schema, documents, config: { ...config }, plugins: chosen, pluginMap: PLUGINS }),
  );
}
