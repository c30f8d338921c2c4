/** Waits for the user's consent at the provider, by long poll. */
import { useEffect, useState } from 'react'
import { useApi } from '../../api/client.ts'
import { graphql } from '../../api/graphql.ts'
import { isTransient, problemOf } from '../../api/problem.ts'

const authorizationQuery = graphql(`
  query Authorization($id: ID!) {
    authorization(id: $id, timeoutSeconds: 20) {
      status
    }
  }
`)

/** pause after an error, for example while the server is down */
const RETRY_MS = 2_000

/** Returns the error for users; null while waiting. */
export function useConsent(authId: string, onConnected: () => void): string | null {
  const { uncached: plain } = useApi()
  const [wrong, setWrong] = useState<string | null>(null)
  // biome-ignore lint/correctness/useExhaustiveDependencies: the callback may change with each render
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
