/**
 * Shows a truncated reason as a tooltip, on hover or when its row has the focus. One tooltip serves all rows.
 * Screen readers read the full text with the name.
 */
import { Tooltip } from '@mantine/core'
import { type RefObject, useEffect, useState } from 'react'

export const whyId = (id: string) => `why-${id}`

/** no tooltip while the pointer passes or the list scrolls */
const HOVER_DELAY_MS = 150

export function ReasonTooltip({ body }: { body: RefObject<HTMLElement | null> }) {
  const [cut, setCut] = useState<HTMLElement | null>(null)
  useEffect(() => {
    const { current: rows } = body
    if (!rows) return
    let timer: ReturnType<typeof setTimeout> | undefined
    const leave = () => {
      clearTimeout(timer)
      setCut(null)
    }
    const look = (event: PointerEvent | FocusEvent) => {
      clearTimeout(timer)
      timer = setTimeout(() => {
        const why = (event.target as Element).closest('tr')?.querySelector<HTMLElement>('[data-why]')
        setCut(why && isTruncated(why) && (event instanceof FocusEvent || isUnderPointer(why, event)) ? why : null)
      }, HOVER_DELAY_MS)
    }
    const onKey = ({ key }: KeyboardEvent) => key === 'Escape' && leave()
    rows.addEventListener('pointermove', look)
    rows.addEventListener('focusin', look)
    rows.addEventListener('pointerleave', leave)
    rows.addEventListener('focusout', leave)
    document.addEventListener('scroll', leave, { passive: true })
    document.addEventListener('keydown', onKey)
    return () => {
      clearTimeout(timer)
      rows.removeEventListener('pointermove', look)
      rows.removeEventListener('focusin', look)
      rows.removeEventListener('pointerleave', leave)
      rows.removeEventListener('focusout', leave)
      document.removeEventListener('scroll', leave)
      document.removeEventListener('keydown', onKey)
    }
  }, [body])
  if (!cut?.isConnected) return null
  return <Tooltip target={cut} label={cut.textContent} opened multiline maw={420} position="bottom-start" />
}

const isTruncated = ({ scrollHeight, clientHeight }: HTMLElement) => scrollHeight > clientHeight + 1

/** Whether the pointer is over the reason. The row's link covers it, so it gets no events itself. */
function isUnderPointer(why: HTMLElement, { clientX: x, clientY: y }: PointerEvent): boolean {
  const { left, right, top, bottom } = why.getBoundingClientRect()
  return x >= left && x <= right && y >= top && y <= bottom
}
