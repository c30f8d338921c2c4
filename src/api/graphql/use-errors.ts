/** Yoga plugins: present all errors, and reject unreadable requests that Yoga would answer with a 500 or an empty 415. */
import { GraphQLError } from 'graphql'
import { isAsyncIterable, mapAsyncIterator, type Plugin } from 'graphql-yoga'
import type { Log } from '../../platform/log/log.ts'
import { presentError } from './builder/errors.ts'
import type { ServerContext } from './use-authentication.ts'

interface Result {
  errors?: readonly unknown[]
}

/** Presents all errors of results and streams by builder/errors.ts. */
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
        // from a URL or a form; Yoga reports errors of a JSON body itself
        if (error instanceof SyntaxError) throw refusal(400, 'variables and extensions must be JSON.')
        throw error
      }
    })
  },
}

function refusal(status: number, message: string): GraphQLError {
  return new GraphQLError(message, { extensions: { http: { status } } })
}
