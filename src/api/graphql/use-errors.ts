/**
 * Yoga plugins: the only exit for errors, and what Yoga alone would answer with a 500, or a 415 without a body: a request
 * that can't be read as one of GraphQL is refused like every other error.
 */
import { GraphQLError } from 'graphql'
import { isAsyncIterable, mapAsyncIterator, type Plugin } from 'graphql-yoga'
import type { Log } from '../../platform/log/log.ts'
import { presentError } from './builder/errors.ts'
import type { ServerContext } from './use-authentication.ts'

interface Result {
  errors?: readonly unknown[]
}

/** Whatever went wrong, of a result or of a stream, leaves as errors.ts presents it. */
export function usePresentedErrors(log: Log): Plugin<object, ServerContext> {
  return {
    onResultProcess({ result, setResult, serverContext }) {
      const present = <R extends Result>(one: R): R =>
        one.errors
          ? { ...one, errors: one.errors.map((e) => presentError(e, log, serverContext.requestId ?? '')) }
          : one
      if (isAsyncIterable(result)) setResult(mapAsyncIterator(result, present) as typeof result)
      else setResult((Array.isArray(result) ? result.map(present) : present(result as Result)) as typeof result)
    },
  }
}

export const useReadableRequests: Plugin = {
  onRequestParse({ requestParser, setRequestParser }) {
    setRequestParser(async (request) => {
      if (!requestParser) throw refusal(415, 'Send the request as application/json.')
      try {
        return await requestParser(request)
      } catch (error) {
        // of an address or a form; Yoga reports that of a JSON body itself
        if (error instanceof SyntaxError) throw refusal(400, 'variables and extensions must be JSON.')
        throw error
      }
    })
  },
}

function refusal(status: number, message: string): GraphQLError {
  return new GraphQLError(message, { extensions: { http: { status } } })
}
