/** `/w/$ws/alerts`: alerts of now, the rules that make them, and the webhook endpoints that tell people. */
import { Stack } from '@mantine/core'
import { useHasRole } from '../../components/me.ts'
import { Page } from '../../components/page.tsx'
import { Endpoints } from './endpoints.tsx'
import { FiringAlerts } from './firing-alerts.tsx'
import { Rules } from './rules.tsx'

export default function AlertsPage() {
  const isAdmin = useHasRole('admin')
  return (
    <Page
      title="Alerts"
      description="Rules say when a deployment has a problem. Webhook endpoints tell you, also in Slack."
    >
      <Stack gap={36}>
        <FiringAlerts />
        <Rules />
        {/* a URL may contain a secret */}
        {isAdmin && <Endpoints />}
      </Stack>
    </Page>
  )
}
