import {
  type DocumentNode,
  type GraphQLSchema,
  TypeInfo,
  getNamedType,
  isInputObjectType,
  visit,
  visitWithTypeInfo,
} from 'graphql';

/** The deprecated fields, arguments and input fields that a valid document names, as schema coordinates. Values of variables are not known. */
export function deprecatedFieldsIn(schema: GraphQLSchema, document: DocumentNode): readonly string[] {
  const found = new Set<string>();
  const info = new TypeInfo(schema);
  const note = (coordinate: string, member: { readonly deprecationReason?: string | null | undefined } | undefined) => {
    if (member?.deprecationReason != null) found.add(coordinate);
  };
  const fieldOf = () => `${info.getParentType()?.name}.${info.getFieldDef()?.name}`;
  visit(
    document,
    visitWithTypeInfo(info, {
      Field: () => note(fieldOf(), info.getFieldDef() ?? undefined),
      Argument: ({ name }) => note(`${fieldOf()}(${name.value}:)`, info.getArgument() ?? undefined),
      ObjectField: ({ name }) => {
        const type = getNamedType(info.getParentInputType());
        if (isInputObjectType(type)) note(`${type.name}.${name.value}`, type.getFields()[name.value]);
      },
    }),
  );
  return [...found].toSorted();
}
