/** Pages of the navigation and the command palette. */
import {
  IconBell,
  IconGitBranch,
  IconHistory,
  IconKey,
  IconServerBolt,
  IconStack2,
  IconUserShield,
} from '@tabler/icons-react'

export const PAGES = [
  { to: '/w/$ws/deployments', label: 'Deployments', icon: IconStack2 },
  { to: '/w/$ws/activity', label: 'Activity', icon: IconHistory },
  { to: '/w/$ws/alerts', label: 'Alerts', icon: IconBell },
  { to: '/w/$ws/listeners', label: 'Listeners', icon: IconServerBolt },
  { to: '/w/$ws/integrations', label: 'Integrations', icon: IconGitBranch },
  { to: '/w/$ws/oauth', label: 'OAuth', icon: IconUserShield },
  { to: '/w/$ws/keys', label: 'Keys and sessions', icon: IconKey },
] as const
