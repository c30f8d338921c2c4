/** The OAuth page's query string. */
export const TABS = ['accounts', 'connections', 'providers'] as const
export type Tab = (typeof TABS)[number]

export interface OAuthSearch {
  /** default: accounts */
  tab?: Tab
  /** the agent whose connections are shown */
  agent?: string
}

export function oauthSearch({ tab, agent }: Record<string, unknown>): OAuthSearch {
  const known = TABS.find((one) => one === tab)
  const named = typeof agent === 'string' || typeof agent === 'number' ? String(agent).slice(0, 256) : ''
  return { ...(known && { tab: known }), ...(named && { agent: named }) }
}
