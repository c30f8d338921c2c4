/** Says that a deployment from before names has a port as its address, and how an operator gives it a name. */
import { Code, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { Copy } from './copy.tsx'
import { useDefaultIdleMinutes } from './me.ts'

interface NoNameProps {
  deploymentId: string
  listenerId: string | null
  /** what it lacks */
  children: ReactNode
}

export function NoName({ deploymentId, listenerId, children }: NoNameProps) {
  const isOnMachine = useDefaultIdleMinutes(listenerId) !== null
  const command = `pilothouse server addresses name ${deploymentId}`
  return (
    <Text size="sm" component="div">
      {children}{' '}
      {isOnMachine ? (
        <>
          Its address is a port, from before addresses had names. On the server’s machine,{' '}
          <Code style={{ overflowWrap: 'anywhere' }}>{command}</Code> <Copy text={command} what="the command" /> gives
          it one. Then the present address stops working.
        </>
      ) : (
        'It is not behind a door.'
      )}
    </Text>
  )
}
