/** Yoga plugin: the only exit for errors. Whatever went wrong, of a result or of a stream, leaves as errors.ts presents it. */
import { isAsyncIterable, mapAsyncIterator, type Plugin } from 'graphql-yoga'
import type { Log } from '../domain/context.ts'
import { presentError } from './errors.ts'
import type { ServerContext } from './use-authentication.ts'

interface Result {
  errors?: readonly unknown[]
}

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
