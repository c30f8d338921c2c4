/**
 * Adds examples to the OpenAPI document: to every request body and to every answer. A test parses each example with its
 * schema.
 */
import { exampleAnswer, nameOf, type Schema } from './answers.ts'
import { DATA_PLANE_EXAMPLES } from './data-plane.ts'
import { ERROR_EXAMPLES, errorExample } from './errors.ts'
import { REQUEST_EXAMPLES } from './requests.ts'

/** by schema id */
const EXAMPLES: Record<string, unknown> = { ...REQUEST_EXAMPLES, ...DATA_PLANE_EXAMPLES, ...ERROR_EXAMPLES }

interface Content {
  content?: Record<string, { schema?: Schema; example?: unknown }>
}
interface Documented {
  paths?: Record<string, Record<string, { requestBody?: Content; responses?: Record<string, Content> }>>
  components?: { schemas?: Record<string, Schema> }
}

/** Changes the document in place and returns it. */
export function addExamples<D extends object>(document: D): D {
  const { paths = {}, components } = document as Documented
  for (const methods of Object.values(paths))
    for (const { requestBody, responses = {} } of Object.values(methods)) {
      const body = jsonOf(requestBody)
      if (body?.schema) body.example = writtenFor(body.schema)
      for (const [status, answer] of Object.entries(responses)) {
        const json = jsonOf(answer)
        if (!json?.schema) continue
        const error = json.schema.$ref?.endsWith('/Error') ? errorExample(status) : undefined
        json.example = error ?? writtenFor(json.schema) ?? exampleAnswer(json.schema, components?.schemas ?? {})
      }
    }
  return document
}

const jsonOf = (part: Content | undefined) => part?.content?.['application/json']

/** The schema of a request body may have the suffix `Input`. */
const writtenFor = ({ $ref = '' }: Schema) => EXAMPLES[nameOf($ref).replace(/Input$/, '')]
