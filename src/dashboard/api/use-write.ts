/**
 * A mutation from a page. Each of ours answers a union of success and errors, and what can go wrong is data: select
 * `__typename`, the success, and `...Wrong`. A write whose answer is lost on the way is sent again, with its key.
 */
import { useCallback, useState } from 'react'
import { type AnyVariables, type Client, type TypedDocumentNode, useClient } from 'urql'
import { useApi } from './api-context.tsx'
import { graphql } from './graphql.ts'
import { createProblem, type Problem, problemOf } from './problem.ts'

/** What a `Problem` is made of, whichever member of a mutation's union it is. */
export const wrongFragment = graphql(`
  fragment Wrong on Error {
    code
    message
    ... on ValidationError {
      issues {
        path
        message
        code
      }
    }
    ... on PreconditionFailedError {
      version
    }
  }
`)

/** How often it is sent, with the same key, when no answer comes. */
const ATTEMPTS = 3
/** ms before the second; the third waits twice as long */
const RETRY_MS = 400

type Payload<Data> = NonNullable<Data[keyof Data]>
type Success<Data> = Extract<Payload<Data>, { __typename: `${string}Success` }>

export type Outcome<Data> = { ok: true; value: Success<Data> } | { ok: false; problem: Problem }

type Document<Data, Variables extends AnyVariables> = TypedDocumentNode<Data, Variables>
type Write<Data, Variables> = [write: (variables: Variables) => Promise<Outcome<Data>>, busy: boolean]

/** Answers what writes, and whether that is under way. It never throws. */
export const useWrite = <Data, Variables extends AnyVariables>(document: Document<Data, Variables>) =>
  useClientWrite(useClient(), document)

/** The same past the cache, for answers with something secret in them: nothing of it stays behind. */
export const useUncachedWrite = <Data, Variables extends AnyVariables>(document: Document<Data, Variables>) =>
  useClientWrite(useApi().uncached, document)

function useClientWrite<Data, Variables extends AnyVariables>(
  client: Client,
  document: Document<Data, Variables>,
): Write<Data, Variables> {
  const [busy, setBusy] = useState(false)
  const write = useCallback(
    async (variables: Variables): Promise<Outcome<Data>> => {
      setBusy(true)
      try {
        const idempotencyKey = newIdempotencyKey()
        for (let attempt = 1; ; attempt++) {
          const result = await client.mutation(document, variables, { idempotencyKey }).toPromise()
          if (!result.error) return outcomeOf(result.data)
          const wrong = problemOf(result.error)
          if (wrong.code !== 'OFFLINE' || attempt === ATTEMPTS) return { ok: false, problem: wrong }
          await new Promise((resolve) => setTimeout(resolve, attempt * RETRY_MS))
        }
      } finally {
        setBusy(false)
      }
    },
    [client, document],
  )
  return [write, busy]
}

/** `crypto.randomUUID` is there over https and on localhost alone. */
const newIdempotencyKey = (): string =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('')

function outcomeOf<Data>(data: Data | undefined): Outcome<Data> {
  const [payload] = Object.values(data ?? {}) as (Partial<Problem> & { __typename?: string })[]
  if (payload?.__typename?.endsWith('Success')) return { ok: true, value: payload as Success<Data> }
  const { code = 'INTERNAL', message = 'The server gave no answer that this page understands.' } = payload ?? {}
  const { issues = [], version = null } = payload ?? {}
  return { ok: false, problem: { ...createProblem(code, message), issues, version } }
}
