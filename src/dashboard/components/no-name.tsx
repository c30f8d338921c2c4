/** Says that a deployment from before names has a port or an Ingress as its address, and how an operator gives it a name. */
import { Code, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { Copy } from './copy.tsx'

interface NoNameProps {
  deploymentId: string
  /** what it lacks */
  children: ReactNode
}

export function NoName({ deploymentId, children }: NoNameProps) {
  const command = `pilothouse server addresses name ${deploymentId}`
  return (
    <Text size="sm" component="div">
      {children} Its address is a port or an Ingress, from before addresses had names. On the server’s machine, or in
      its pod, <Code style={{ overflowWrap: 'anywhere' }}>{command}</Code> <Copy text={command} what="the command" />{' '}
      gives it one, if there is a door. Then the present address stops working.
    </Text>
  )
}
