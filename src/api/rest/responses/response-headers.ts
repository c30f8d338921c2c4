/** The headers of answers in the OpenAPI document: the transform that makes JSON Schema of zod's leaves them out. */
import type { createJsonSchemaTransform } from 'fastify-type-provider-zod'

/** name → its JSON Schema, with a description */
export type ResponseHeaders = Record<string, { type: 'string'; format?: string; description: string }>

type Transform = ReturnType<typeof createJsonSchemaTransform>

/** `transform`, and the `headers` of each response as the route declares them. */
export function withResponseHeaders(transform: Transform): Transform {
  return (route) => {
    const transformed = transform(route)
    const declared = (route.schema?.response ?? {}) as Record<string, { headers?: ResponseHeaders }>
    const responses = (transformed.schema.response ?? {}) as Record<string, { headers?: ResponseHeaders }>
    for (const [status, { headers }] of Object.entries(declared)) if (headers) responses[status]!.headers = headers
    return transformed
  }
}
