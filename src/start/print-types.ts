/**
 * Writes the types of the API that the dashboard and the client use, at `npm ci`, `npm run schema` and `npm run check`. Needs no
 * server or database.
 */
import { writeFileSync } from 'node:fs'
import Fastify from 'fastify'
import { minifyIntrospection, outputIntrospectionFile } from 'gql.tada/internal'
import {
  type GraphQLInputObjectType,
  type GraphQLObjectType,
  type GraphQLOutputType,
  getNamedType,
  introspectionFromSchema,
  isAbstractType,
  isInputObjectType,
  isObjectType,
  lexicographicSortSchema,
} from 'graphql'
import type { OpenAPI3 } from 'openapi-typescript'
import type { Limits } from '../api/graphql/builder/shapes.ts'
import { schema } from '../api/graphql/schema.ts'
import { documentation } from '../api/rest/document.ts'
import { toRoute } from '../api/rest/framework/operation.ts'
import { loginRoutes } from '../api/rest/login.ts'
import { operations } from '../api/rest/operations.ts'
import { FIELD_SOURCES } from '../domain/deployments/source-rules.ts'
import { CATALOGUE } from '../domain/errors/errors.ts'
import { camel } from '../domain/parsing/codec.ts'

const HEAD = "Written by `npm ci` and `npm run schema`. Don't edit it. */\n"
const sorted = lexicographicSortSchema(schema)

function schemaTypes(): string {
  const introspection = minifyIntrospection(
    introspectionFromSchema(sorted) as unknown as Parameters<typeof minifyIntrospection>[0],
  )
  return `/** The GraphQL schema as types, for gql.tada. ${HEAD}${outputIntrospectionFile(introspection, { fileType: '.d.ts', shouldPreprocess: true })}`
}

function possibleTypes(): string {
  const entries = Object.values(sorted.getTypeMap())
    .filter(isAbstractType)
    .map((type) => [type.name, sorted.getPossibleTypes(type).map(({ name }) => name)] as const)
  const types = jsonConstant('possibleTypes', 'Record<string, string[]>', entries)
  return `/** The object types of each interface and union, for the cache. ${HEAD}${types}`
}

/** A constant that is parsed from JSON: quicker for browsers than a literal. */
const jsonConstant = (name: string, type: string, entries: (readonly [string, unknown])[]) =>
  `export const ${name}: ${type} = JSON.parse(\n  '${JSON.stringify(Object.fromEntries(entries))}',\n)\n`

/** The sources that may set a field of a deployment's input; undefined: all. */
const sourcesOf = (input: string, field: string) =>
  Object.entries(FIELD_SOURCES).find(([path]) => {
    const [name, parent = 'updateDeployment'] = path.split('.').map(camel).reverse()
    return name === field && `${parent}Input`.toLowerCase() === input.toLowerCase()
  })?.[1]

function fieldsOf(input: GraphQLInputObjectType) {
  const fields = Object.values(input.getFields()).map(({ name, type, deprecationReason, extensions }) => {
    const { minimum: min, maximum: max, maxLength } = (extensions.limits ?? {}) as Limits
    const isUnused = deprecationReason ? true : undefined
    return [name, { type: `${type}`, min, max, maxLength, isUnused, sources: sourcesOf(input.name, name) }]
  })
  return [input.name, Object.fromEntries(fields)] as const
}

const INPUT_FIELD = `
export interface InputField {
  /** in GraphQL, such as \`[String!]\` */
  type: string
  /** bounds of a number */
  min?: number
  max?: number
  /** characters of a text, or of each text of a list */
  maxLength?: number
  /** stored, but without effect */
  isUnused?: boolean
  /** of a deployment; absent: all */
  sources?: string[]
}

`

/** Bounds come from the zod schemas, by way of the fields' extensions. */
function inputFields(): string {
  const inputs = Object.values(sorted.getTypeMap()).filter(isInputObjectType).map(fieldsOf)
  const fields = jsonConstant('INPUT_FIELDS', 'Record<string, Record<string, InputField>>', inputs)
  return `/** The fields of each input type, for forms. ${HEAD}${INPUT_FIELD}${fields}`
}

/** All fields of a type, with those of objects in it. Resources have their own fragment. */
function selection(type: GraphQLOutputType, isRoot = false): string {
  const named = getNamedType(type)
  if (!isObjectType(named)) return ''
  if (named.name === 'ResourceSpec' && !isRoot) return ' { ...AllResources }'
  const fields = Object.values(named.getFields()).map((field) => field.name + selection(field.type))
  return ` { ${fields.join(' ')} }`
}

function settingsFragments(): string {
  const { sourceConfig, sourceRevisionConfig } = (sorted.getType('Deployment') as GraphQLObjectType).getFields()
  const parts = [sourceConfig!, sourceRevisionConfig!].map(({ name, type }) => name + selection(type))
  const resources = selection(sorted.getType('ResourceSpec') as GraphQLObjectType, true)
  return `/** All settings of a deployment's source, and all resources. ${HEAD}import { graphql } from '../../api/graphql.ts'

export const allResourcesFragment = graphql(\`fragment AllResources on ResourceSpec @_unmask${resources}\`)

export const allSettingsFragment = graphql(
  \`fragment AllSettings on Deployment @_unmask { id ${parts.join(' ')} }\`,
  [allResourcesFragment],
)
`
}

const NOT_CALLED = 'not callable: the document is only printed'

/** The document of a server, apart from its URL. */
async function openApiDocument(): Promise<OpenAPI3> {
  const fastify = Fastify()
  fastify.setValidatorCompiler(() => (value) => ({ value }))
  fastify.setSerializerCompiler(() => (body) => JSON.stringify(body))
  await fastify.register(documentation, { publicUrl: () => 'http://localhost' })
  const parts = {
    authenticate: () => Promise.reject(new Error(NOT_CALLED)),
    streaming: null as never,
    responseCache: null as never,
  }
  for (const operation of operations) fastify.route(toRoute(operation, parts.authenticate, parts))
  // logins need no key, so they are no operations, but the client calls them
  loginRoutes(fastify, null as never)
  await fastify.ready()
  return JSON.parse(JSON.stringify(fastify.swagger()))
}

// biome-ignore lint/suspicious/noExplicitAny: a part of a JSON document
type Any = any

/** Drops examples, error answers, and the calls of listeners and builders, which have their own client. */
function forClients(document: OpenAPI3): OpenAPI3 {
  const paths: Any = {}
  for (const [path, methods] of Object.entries<Any>(document.paths!)) {
    const included = Object.entries<Any>(methods).filter(
      ([, { tags }]) => !tags.includes('Data plane') && !tags.includes('Builders'),
    )
    if (included.length > 0)
      paths[path] = Object.fromEntries(included.map(([method, found]) => [method, withSuccessesOnly(found)]))
  }
  const named = new Set(['Error', 'ValidationError'])
  collect(paths, document, named)
  const { headers, schemas } = document.components!
  const components = {
    headers,
    schemas: Object.fromEntries(Object.entries(schemas!).filter(([name]) => named.has(name))),
  }
  return withoutExamples({ openapi: document.openapi, info: document.info, paths, components })
}

const withSuccessesOnly = ({ responses, ...operation }: Any) => ({
  ...operation,
  responses: Object.fromEntries(
    Object.entries<Any>(responses).flatMap(([status, answer]) =>
      status.startsWith('2') ? [[status, { ...answer, content: jsonContentOnly(answer.content) }]] : [],
    ),
  ),
})

/** For an operation with a stream only the JSON answer is typed; `watch` and `followLogs` read the stream. */
const jsonContentOnly = (content: Any) =>
  content?.['application/json'] ? { 'application/json': content['application/json'] } : content

/** Adds the names of all schemas that `part` refers to, directly or indirectly. */
function collect(part: unknown, document: OpenAPI3, named: Set<string>): void {
  for (const [, name] of JSON.stringify(part).matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
    if (named.has(name!)) continue
    named.add(name!)
    collect(document.components!.schemas![name!], document, named)
  }
}

function withoutExamples<T>(document: T): T {
  return JSON.parse(JSON.stringify(document, (key, value) => (/^examples?$/.test(key) ? undefined : value)))
}

/** Only successful answers have types: the client throws errors (see ErrorCode). Null without openapi-typescript, a development dependency. */
async function clientTypes(): Promise<string | null> {
  const generator = await import('openapi-typescript').catch(() => null)
  if (!generator) return null
  const ast = await generator.default(forClients(await openApiDocument()), {
    silent: true,
    rootTypes: true,
    rootTypesNoSchemaPrefix: true,
  })
  const codes = Object.keys(CATALOGUE).map((code) => `  | '${code}'\n`)
  return `/** Types of the REST API. ${HEAD}\n${generator.astToString(ast)}\n/** The \`code\` of an error. */\nexport type ErrorCode =\n${codes.join('')}`
}

const FILES = {
  'dashboard/api/schema-types.d.ts': schemaTypes(),
  'dashboard/api/possible-types.ts': possibleTypes(),
  'dashboard/components/input-fields.ts': inputFields(),
  'dashboard/pages/settings/settings-fragments.ts': settingsFragments(),
  'client/openapi.ts': await clientTypes(),
}
for (const [name, text] of Object.entries(FILES))
  if (text !== null) writeFileSync(new URL(`../${name}`, import.meta.url), text)
