/** The client without a cache, for pages whose data passes by once. The one with a cache is urql's own context. */
import { createContext, type ReactNode, useContext } from 'react'
import type { Api } from './client.ts'

const Context = createContext<Api | null>(null)

export function ApiProvider({ api, children }: { api: Api; children: ReactNode }) {
  return <Context value={api}>{children}</Context>
}

export const useApi = (): Api => useContext(Context)!
