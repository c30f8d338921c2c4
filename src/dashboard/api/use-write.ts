/**
 * Sends a mutation. Each mutation returns a union of success and errors: documents select `__typename` and the success, and
 * `useWrite` adds the errors. A write without an answer is sent again with the same idempotency key.
 */
import { useCallback, useMemo, useState } from 'react'
import { type AnyVariables, type Client, gql, type TypedDocumentNode, useClient } from 'urql'
import { useApi } from './client.ts'
import { graphql } from './graphql.ts'
import { createProblem, type Problem, problemOf } from './problem.ts'
import type { introspection } from './schema-types.d.ts'

/** The fields of a `Problem`, on every error type of a mutation's union. */
const problemFragment = graphql(`
  fragment Problem on Error {
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

type Outcome<Data> = { ok: true; value: Success<Data> } | { ok: false; problem: Problem }

type Document<Data, Variables extends AnyVariables> = TypedDocumentNode<Data, Variables>

/** A node of a document that selects fields. */
interface Selecting {
  selectionSet: { selections: readonly object[] }
}

/** The mutation, with the errors of its union in the selection. Its document begins with the operation, which has one field. */
function withErrors<Data, Variables extends AnyVariables>(mutation: Document<Data, Variables>) {
  const errors = { kind: 'FragmentSpread', name: { kind: 'Name', value: 'Problem' } }
  const [operation, ...fragments] = mutation.definitions as unknown as [Selecting, ...object[]]
  const [field] = operation.selectionSet.selections as [Selecting]
  const answer = { ...field.selectionSet, selections: [...field.selectionSet.selections, errors] }
  const selectionSet = { ...operation.selectionSet, selections: [{ ...field, selectionSet: answer }] }
  const definitions = [{ ...operation, selectionSet }, ...fragments, ...problemFragment.definitions]
  return { kind: 'Document', definitions } as unknown as Document<Data, Variables>
}

type Write<Data, Variables> = [write: (variables: Variables) => Promise<Outcome<Data>>, busy: boolean]

/** Returns the write function and whether a write is running. The function never throws. */
export const useWrite = <Data, Variables extends AnyVariables>(document: Document<Data, Variables>) =>
  useClientWrite(useClient(), document)

type MutationName = keyof introspection['types']['Mutation']['fields']
/** A mutation whose input has its name, which all of them have that take one. */
export type Command = {
  [Name in MutationName]: `${Capitalize<Name>}Input` extends keyof introspection['types'] ? Name : never
}[MutationName]
export type InputOf<Name extends Command> = ReturnType<
  typeof graphql.scalar<`${Capitalize<Name>}Input` & keyof introspection['types']>
>

/** Sends a mutation whose answer the page doesn't need: cache.ts says which lists are read again. */
export function useCommand<Name extends Command>(name: Name) {
  const document = useMemo(() => {
    const type = name[0]!.toUpperCase() + name.slice(1)
    const text = `mutation ${type}($input: ${type}Input!) { ${name}(input: $input) { __typename } }`
    return gql<Record<string, { __typename: `${string}Success` }>, { input: InputOf<Name> }>(text)
  }, [name])
  const [write, busy] = useWrite(document)
  return [(input: InputOf<Name>) => write({ input }), busy] as const
}

/** Like `useWrite`, but without the cache: a secret in the answer is not stored. */
export const useUncachedWrite = <Data, Variables extends AnyVariables>(document: Document<Data, Variables>) =>
  useClientWrite(useApi().uncached, document)

function useClientWrite<Data, Variables extends AnyVariables>(
  client: Client,
  mutation: Document<Data, Variables>,
): Write<Data, Variables> {
  const [busy, setBusy] = useState(false)
  const document = useMemo(() => withErrors(mutation), [mutation])
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
