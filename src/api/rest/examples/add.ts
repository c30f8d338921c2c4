/**
 * Adds examples to the OpenAPI document: to every request body and to every answer. A test parses each example with its
 * schema.
 */
import { DATA_PLANE_EXAMPLES } from './data-plane.ts'
import { DEPLOYMENT_EXAMPLES } from './deployments.ts'
import { ERROR_EXAMPLES, errorExample } from './errors.ts'
import { EVENT_EXAMPLES } from './events.ts'
import { OAUTH_EXAMPLES } from './oauth.ts'
import { TENANCY_EXAMPLES } from './tenancy.ts'

/** by schema id */
const EXAMPLES: Record<string, unknown> = {
  ...DEPLOYMENT_EXAMPLES,
  ...DATA_PLANE_EXAMPLES,
  ...EVENT_EXAMPLES,
  ...OAUTH_EXAMPLES,
  ...TENANCY_EXAMPLES,
  ...ERROR_EXAMPLES,
}

interface Content {
  content?: Record<string, { schema?: { $ref?: string; items?: { $ref?: string } }; example?: unknown }>
}
interface Documented {
  paths?: Record<string, Record<string, { requestBody?: Content; responses?: Record<string, Content> }>>
}

/** Changes the document in place and returns it. */
export function addExamples<D extends object>(document: D): D {
  for (const methods of Object.values((document as Documented).paths ?? {}))
    for (const { requestBody, responses = {} } of Object.values(methods)) {
      addTo(requestBody)
      for (const [status, answer] of Object.entries(responses)) addTo(answer, errorExample(status))
    }
  return document
}

/** `error`: the example for an answer with the schema Error. */
function addTo(part: Content | undefined, error?: object): void {
  const body = part?.content?.['application/json']
  if (!body?.schema) return
  const { $ref, items } = body.schema
  const ofError = $ref?.endsWith('/Error') ? error : undefined
  const example = ofError ?? exampleOf($ref) ?? (items && [exampleOf(items.$ref)])
  if (example !== undefined) body.example = example
}

/** The schema of a request body may have the suffix `Input`. */
const exampleOf = (ref = '') =>
  EXAMPLES[
    ref
      .split('/')
      .at(-1)!
      .replace(/Input$/, '')
  ]
