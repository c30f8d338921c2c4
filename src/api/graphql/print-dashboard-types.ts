/**
 * `npm run schema` writes the dashboard's knowledge of the schema (src/dashboard/api): the types of its documents, and the
 * possible types of interfaces and unions.
 */
import { minifyIntrospection, outputIntrospectionFile } from 'gql.tada/internal'
import { introspectionFromSchema, isAbstractType, lexicographicSortSchema } from 'graphql'
import { writeOrCheck } from '../../platform/files/generated-file.ts'
import { schema } from './schema.ts'

const HEAD = "Written by `npm run schema`. Don't edit it; `npm run check` says when it is not what the code makes. */\n"
const sorted = lexicographicSortSchema(schema)

function types(): string {
  const introspection = minifyIntrospection(
    introspectionFromSchema(sorted) as unknown as Parameters<typeof minifyIntrospection>[0],
  )
  return `/** The schema as types, for gql.tada. ${HEAD}${outputIntrospectionFile(introspection, { fileType: '.d.ts', shouldPreprocess: true })}`
}

function possibleTypes(): string {
  const entries = Object.values(sorted.getTypeMap())
    .filter(isAbstractType)
    .map((type) => [type.name, sorted.getPossibleTypes(type).map(({ name }) => name)])
  const text = JSON.stringify(Object.fromEntries(entries))
  return `/** Which types an interface or a union can be, for the cache. ${HEAD}export const possibleTypes: Record<string, string[]> = JSON.parse(\n  '${text}',\n)\n`
}

const FILES = { 'schema-types.d.ts': types, 'possible-types.ts': possibleTypes }
for (const [name, print] of Object.entries(FILES))
  writeOrCheck(new URL(`../../dashboard/api/${name}`, import.meta.url), print())
