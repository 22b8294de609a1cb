// npx graphql-codegen --config codegen.ts
export default {
  schema: 'http://127.0.0.1:4000/schema.graphql',
  documents: 'operations.graphql',
  generates: {
    'generated/operations.ts': { plugins: ['typescript-operations', 'typed-document-node'] },
  },
  config: {
    // Without this every scalar is `unknown` or `any`.
    scalars: {
      BigInt: 'string',
      DatabaseId: 'string | number',
      Date: 'string',
      DateTime: 'string',
      JSON: 'unknown',
      URL: 'string',
      UUID: 'string',
    },
    strictScalars: true,
    enumsAsTypes: true,
    useTypeImports: true,
  },
};
