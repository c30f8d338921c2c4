/** A row's link to its deployment. A plain link: router links watch the address, and slow down scrolling. */
import { useNavigate, useParams } from '@tanstack/react-router'
import type { MouseEvent } from 'react'
import classes from './deployments.module.css'
import { whyId } from './reason-tooltip.tsx'
import type { Row } from './row-pages.ts'

export function DeploymentLink({ row: { id, name, whyNotLive } }: { row: Row }) {
  const { ws } = useParams({ from: '/w/$ws' })
  const navigate = useNavigate()
  const open = (event: MouseEvent) => {
    // the browser handles new tabs and windows
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
