/** Response headers in the OpenAPI document. The transform from zod to JSON Schema drops them. */
import type { createJsonSchemaTransform } from 'fastify-type-provider-zod'

/** JSON Schema by header name */
export type ResponseHeaders = Record<string, { type: 'string'; format?: string; description: string }>

type Transform = ReturnType<typeof createJsonSchemaTransform>

/** Adds the declared `headers` of each response to the result of `transform`. */
export function withResponseHeaders(transform: Transform): Transform {
  return (route) => {
    const transformed = transform(route)
    const declared = (route.schema?.response ?? {}) as Record<string, { headers?: ResponseHeaders }>
    const responses = (transformed.schema.response ?? {}) as Record<string, { headers?: ResponseHeaders }>
    for (const [status, { headers }] of Object.entries(declared)) if (headers) responses[status]!.headers = headers
    return transformed
  }
}
