/** Waits until a person has consented at the provider: the server answers as soon as that is so. */
import { useEffect, useState } from 'react'
import { useApi } from '../../api/api-context.tsx'
import { graphql } from '../../api/graphql.ts'
import { isTransient, problemOf } from '../../api/problem.ts'

const authorizationQuery = graphql(`
  query Authorization($id: ID!) {
    authorization(id: $id, timeoutSeconds: 20) {
      status
    }
  }
`)

/** ms after an answer that says nothing, as while the server is away */
const RETRY_MS = 2_000

/** Answers why it has failed, for people; null: it may still come. */
export function useConsent(authId: string, onConnected: () => void): string | null {
  const { uncached: plain } = useApi()
  const [wrong, setWrong] = useState<string | null>(null)
  // biome-ignore lint/correctness/useExhaustiveDependencies: what is called in the end may be another function each time
  useEffect(() => {
    let over = false
    const wait = async () => {
      while (!over) {
        const { data, error } = await plain.query(authorizationQuery, { id: authId }).toPromise()
        if (over) return
        const found = error && problemOf(error)
        if (found && !isTransient(found)) return setWrong(found.message)
        if (data?.authorization.status === 'completed') return onConnected()
        if (!data) await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
      }
    }
    void wait()
    return () => {
      over = true
    }
  }, [plain, authId])
  return wrong
}
