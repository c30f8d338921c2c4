/** Calls a mutation: one `input`, and a union of its success and its errors as the result. */
import { expect } from 'vitest'
import type { Call, TestApp } from '../support/app.ts'

/** `selection`: of the success. Returns the member of the union, with its `__typename`. */
export async function mutate(app: TestApp, name: string, selection: string, input: object, call?: Call) {
  const type = name[0]!.toUpperCase() + name.slice(1)
  const { data, errors } = await app.gql(
    `mutation ($input: ${type}Input!) { ${name}(input: $input) { __typename ... on ${type}Success { ${selection} }
      ... on Error { code message } ... on ValidationError { issues { path code } } } }`,
    { input },
    call,
  )
  expect(errors).toBeUndefined()
  return data[name]
}
