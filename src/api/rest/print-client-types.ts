/** `npm run schema` writes the client's types (src/client/openapi.ts) from the OpenAPI document. Needs no server or database. */
import Fastify from 'fastify'
import openapiTS, { astToString, type OpenAPI3 } from 'openapi-typescript'
import { CATALOGUE } from '../../domain/errors/errors.ts'
import { writeOrCheck } from '../../platform/files/generated-file.ts'
import { documentation } from './document.ts'
import { toRoute } from './framework/operation.ts'
import { operations } from './operations.ts'

const HEAD = `/**
 * Types of the REST API, written by \`npm run schema\` from the OpenAPI document. Don't edit this file; \`npm run check\` compares it
 * with the code. It has only successful answers, because the client throws errors (see ErrorCode).
 */
`

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
