/**
 * A deployment's name: the link of its row. A plain one: those of the router, each of which watches the address, are what costs
 * most of a row while it is scrolled.
 */
import { useNavigate, useParams } from '@tanstack/react-router'
import type { MouseEvent } from 'react'
import classes from './deployments.module.css'
import { whyId } from './reason-tooltip.tsx'
import type { Row } from './row-pages.ts'

export function DeploymentLink({ row: { id, name, whyNotLive } }: { row: Row }) {
  const { ws } = useParams({ from: '/w/$ws' })
  const navigate = useNavigate()
  const open = (event: MouseEvent) => {
    // another tab or window is the browser's affair
    if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
    event.preventDefault()
    void navigate({ to: '/w/$ws/deployments/$id', params: { ws, id } })
  }
  return (
    <a
      href={`/w/${ws}/deployments/${id}`}
      onClick={open}
      className={classes.name}
      title={name}
      aria-describedby={whyNotLive ? whyId(id) : undefined}
    >
      {name}
    </a>
  )
}
