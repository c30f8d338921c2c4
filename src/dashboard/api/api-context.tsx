/** React context of the workspace's `Api`. urql's own context holds the client with the cache. */
import { createContext, type ReactNode, useContext } from 'react'
import type { Api } from './client.ts'

const Context = createContext<Api | null>(null)

export function ApiProvider({ api, children }: { api: Api; children: ReactNode }) {
  return <Context value={api}>{children}</Context>
}

export const useApi = (): Api => useContext(Context)!
