/**
 * Sends a mutation. Each mutation returns a union of success and errors: select `__typename`, the success and `...Wrong`.
 * A write without an answer is sent again with the same idempotency key.
 */
import { useCallback, useState } from 'react'
import { type AnyVariables, type Client, type TypedDocumentNode, useClient } from 'urql'
import { useApi } from './api-context.tsx'
import { graphql } from './graphql.ts'
import { createProblem, type Problem, problemOf } from './problem.ts'

/** The fields of a `Problem`, on every error type of a mutation's union. */
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

/** Attempts with the same key, while no answer comes. */
const ATTEMPTS = 3
/** wait before the second attempt; twice as long before the third */
const RETRY_MS = 400

type Payload<Data> = NonNullable<Data[keyof Data]>
type Success<Data> = Extract<Payload<Data>, { __typename: `${string}Success` }>

export type Outcome<Data> = { ok: true; value: Success<Data> } | { ok: false; problem: Problem }

type Document<Data, Variables extends AnyVariables> = TypedDocumentNode<Data, Variables>
type Write<Data, Variables> = [write: (variables: Variables) => Promise<Outcome<Data>>, busy: boolean]

/** Returns the write function and whether a write is running. The function never throws. */
export const useWrite = <Data, Variables extends AnyVariables>(document: Document<Data, Variables>) =>
  useClientWrite(useClient(), document)

/** Like `useWrite`, but without the cache: a secret in the answer is not stored. */
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

/** `crypto.randomUUID` exists on https and localhost only. */
const newIdempotencyKey = (): string =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('')

function outcomeOf<Data>(data: Data | undefined): Outcome<Data> {
  const [payload] = Object.values(data ?? {}) as (Partial<Problem> & { __typename?: string })[]
  if (payload?.__typename?.endsWith('Success')) return { ok: true, value: payload as Success<Data> }
  const { code = 'INTERNAL', message = 'The server gave no answer that this page understands.' } = payload ?? {}
  const { issues = [], version = null } = payload ?? {}
  return { ok: false, problem: { ...createProblem(code, message), issues, version } }
}
