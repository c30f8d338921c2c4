/** The navigation: brand, pages, the signed-in user and the connection status. */
import { ActionIcon, Group, Menu, Stack, Text, Tooltip, useMantineColorScheme } from '@mantine/core'
import { IconDeviceDesktop, IconDots, IconLogout, IconMoon, IconSun } from '@tabler/icons-react'
import { useParams } from '@tanstack/react-router'
import { signOut } from '../api/session.ts'
import { useConnection } from '../api/socket.ts'
import { ActorName } from '../components/actor-name.tsx'
import icon from '../components/icon.svg'
import { NavLinkTo } from '../components/links.tsx'
import type { Me } from '../components/me.ts'
import { Elapsed } from '../components/time.tsx'
import classes from './navigation.module.css'
import { PAGES } from './pages.ts'
import { PaletteButton } from './palette.tsx'
import { WorkspaceSwitcher } from './workspace-switcher.tsx'

export function Brand() {
  return (
    <Group gap={8} wrap="nowrap">
      <img src={icon} width={24} height={24} alt="" />
      <Text fw={700} size="md">
        Pilothouse
      </Text>
    </Group>
  )
}

export function Navigation({ me }: { me: Me | null }) {
  const { ws } = useParams({ from: '/w/$ws' })
  return (
    <Stack h="100%" gap="sm">
      <Group px={8} py={4} visibleFrom="sm">
        <Brand />
      </Group>
      <PaletteButton />
      <Stack gap={2} component="nav" aria-label="Pages" style={{ flex: 1 }}>
        {PAGES.map(({ to, label, icon: Icon }) => (
          <NavLinkTo
            key={to}
            to={to}
            params={{ ws }}
            label={label}
            leftSection={<Icon size={18} stroke={1.7} />}
            className={classes.link}
          />
        ))}
      </Stack>
      <ConnectionStatus />
      <Group justify="space-between" wrap="nowrap" px={8} className={classes.foot}>
        <WorkspaceSwitcher me={me} />
        <SignedInActor me={me} />
      </Group>
    </Stack>
  )
}

function SignedInActor({ me }: { me: Me | null }) {
  const { colorScheme, setColorScheme } = useMantineColorScheme()
  const schemes = [
    { value: 'auto', label: 'System', icon: IconDeviceDesktop },
    { value: 'light', label: 'Light', icon: IconSun },
    { value: 'dark', label: 'Dark', icon: IconMoon },
  ] as const
  return (
    <Menu position="top-end" width={200}>
      <Menu.Target>
        <Tooltip label="Account">
          <ActionIcon variant="subtle" color="gray" aria-label="Account">
            <IconDots size={18} />
          </ActionIcon>
        </Tooltip>
      </Menu.Target>
      <Menu.Dropdown>
        {me && (
          <Menu.Label>
            <ActorName actor={me.actor} />
          </Menu.Label>
        )}
        <Menu.Label>Appearance</Menu.Label>
        {schemes.map(({ value, label, icon: Icon }) => (
          <Menu.Item
            key={value}
            leftSection={<Icon size={16} />}
            onClick={() => setColorScheme(value)}
            fw={colorScheme === value ? 600 : 400}
            aria-current={colorScheme === value}
          >
            {label}
          </Menu.Item>
        ))}
        <Menu.Divider />
        <Menu.Item leftSection={<IconLogout size={16} />} onClick={() => signOut()}>
          Sign out
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  )
}

/** Shows whether the page is live, and announces when it is not. */
function ConnectionStatus() {
  const { state, since } = useConnection()
  return (
    <Group gap={8} px={8} wrap="nowrap" role="status">
      <span className={classes.light} data-state={state} />
      <Text size="xs" c="dimmed">
        {state === 'live' && 'Live'}
        {(state === 'idle' || state === 'connecting') && 'Connecting…'}
        {state === 'lost' && (
          <>
            Connection lost for <Elapsed since={new Date(since).toISOString()} />, trying again
          </>
        )}
      </Text>
    </Group>
  )
}
