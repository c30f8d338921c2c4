/** `/w/$ws/oauth`: the user's accounts, the agents that use them, and the providers. */
import { Tabs } from '@mantine/core'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { Page } from '../../components/page.tsx'
import { Accounts } from './accounts.tsx'
import { Connections } from './connections.tsx'
import { Providers } from './providers.tsx'
import { TABS, type Tab } from './search.ts'

const LABELS: Record<Tab, string> = { accounts: 'My accounts', connections: 'Agents', providers: 'Providers' }

export default function OAuthPage() {
  const { tab = 'accounts', agent } = useSearch({ from: '/w/$ws/oauth' })
  const navigate = useNavigate({ from: '/w/$ws/oauth' })
  return (
    <Page title="OAuth" description="Accounts of people that agents act with, each by the person’s own consent.">
      <Tabs value={tab} onChange={(chosen) => void navigate({ search: { tab: chosen as Tab, agent }, replace: true })}>
        <Tabs.List mb="lg">
          {TABS.map((one) => (
            <Tabs.Tab key={one} value={one}>
              {LABELS[one]}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value="accounts">{tab === 'accounts' && <Accounts />}</Tabs.Panel>
        <Tabs.Panel value="connections">
          {tab === 'connections' && (
            <Connections
              agent={agent ?? ''}
              onAgent={(named) => void navigate({ search: { tab, ...(named && { agent: named }) }, replace: true })}
            />
          )}
        </Tabs.Panel>
        <Tabs.Panel value="providers">{tab === 'providers' && <Providers />}</Tabs.Panel>
      </Tabs>
    </Page>
  )
}
