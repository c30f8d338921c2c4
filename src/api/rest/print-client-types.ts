/**
 * `npm run schema` writes the types of the client (src/client/openapi.ts) from the OpenAPI document, by openapi-typescript. Needs
 * no server and no database.
 */
import Fastify from 'fastify'
import openapiTS, { astToString, type OpenAPI3 } from 'openapi-typescript'
import { CATALOGUE } from '../../domain/errors/errors.ts'
import { writeOrCheck } from '../../platform/files/generated-file.ts'
import { documentation } from './document.ts'
import { toRoute } from './framework/operation.ts'
import { operations } from './operations.ts'

const HEAD = `/**
 * What the server speaks: written by \`npm run schema\` from its OpenAPI document. Don't edit it; \`npm run check\` says when it
 * is not what the code makes. Errors are in ErrorCode; of the answers there are those of success, since the client throws all others.
 */
`

const NOT_CALLED = 'nobody calls this: the document is only printed'

/** The document as a server prints it, but for its address. */
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
  await fastify.ready()
  return JSON.parse(JSON.stringify(fastify.swagger()))
}

// biome-ignore lint/suspicious/noExplicitAny: a part of a JSON document
type Any = any

/** What a client needs of the document: no examples, no answers of errors, and not the calls of listeners, who have a client of their own. */
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

/** An answer that may also be followed is one of two types: a call has the page, `watch` and `followLogs` the stream. */
const jsonContentOnly = (content: Any) =>
  content?.['application/json'] ? { 'application/json': content['application/json'] } : content

/** Adds the names of the schemas that `part` refers to, and those that these refer to. */
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

async function clientTypes(): Promise<string> {
  const ast = await openapiTS(forClients(await openApiDocument()), {
    silent: true,
    rootTypes: true,
    rootTypesNoSchemaPrefix: true,
  })
  const codes = Object.keys(CATALOGUE).map((code) => `  | '${code}'\n`)
  return `${HEAD}\n${astToString(ast)}\n/** The \`code\` of an error. */\nexport type ErrorCode =\n${codes.join('')}`
}

writeOrCheck(new URL('../../client/openapi.ts', import.meta.url), await clientTypes())
