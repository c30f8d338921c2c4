/** Waits until a person has consented at the provider: the server answers as soon as that is so. */
import { useEffect, useState } from 'react'
import { useApi } from '../../api/api-context.tsx'
import { graphql } from '../../api/graphql.ts'
import { mayPass, problemOf } from '../../api/problem.ts'

const authorizationQuery = graphql(`
  query Authorization($id: ID!) {
    authorization(id: $id, timeoutSeconds: 20) {
      status
    }
  }
`)

/** ms after an answer that says nothing, as while the server is away */
const PAUSE = 2_000

/** Answers why it has failed, for people; null: it may still come. */
export function useConsent(authId: string, onConnected: () => void): string | null {
  const { plain } = useApi()
  const [wrong, setWrong] = useState<string | null>(null)
  // biome-ignore lint/correctness/useExhaustiveDependencies: what is called in the end may be another function each time
  useEffect(() => {
    let over = false
    const wait = async () => {
      while (!over) {
        const { data, error } = await plain.query(authorizationQuery, { id: authId }).toPromise()
        if (over) return
        const found = error && problemOf(error)
        if (found && !mayPass(found)) return setWrong(found.message)
        if (data?.authorization.status === 'completed') return onConnected()
        if (!data) await new Promise((resolve) => setTimeout(resolve, PAUSE))
      }
    }
    void wait()
    return () => {
      over = true
    }
  }, [plain, authId])
  return wrong
}
