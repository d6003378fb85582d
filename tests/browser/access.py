"""What people who cannot see a page well are told of it, and how well its text stands out."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Page


def tree(page: Page) -> list[dict[str, Any]]:
    """What a screen reader is told: the nodes that are not ignored, each with its properties by name."""
    session = page.context.new_cdp_session(page)
    found = session.send("Accessibility.getFullAXTree")["nodes"]
    session.detach()
    return [
        {
            "role": each["role"]["value"],
            "name": each.get("name", {}).get("value", ""),
            **{one["name"]: one["value"].get("value") for one in each.get("properties", [])},
        }
        for each in found
        if not each["ignored"]
    ]


CONTRAST = """() => {
    const parse = (text) => { const [r, g, b, a = 1] = text.match(/[\\d.]+/g).map(Number); return { r, g, b, a }; };
    const linear = (c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    const light = ({ r, g, b }) => [r, g, b].map((c) => linear(c / 255))
        .reduce((sum, c, place) => sum + c * [0.2126, 0.7152, 0.0722][place], 0);
    const ground = (each) => {
        for (let node = each; node; node = node.parentElement) {
            const found = parse(getComputedStyle(node).backgroundColor);
            if (found.a === 1) return found;
        }
        return { r: 255, g: 255, b: 255, a: 1 };
    };
    const weak = new Map();
    let seen = 0;
    const look = (each, colour, style, text) => {
        const [one, two] = [light(parse(colour)), light(ground(each))].sort((a, b) => b - a);
        const size = parseFloat(style.fontSize);
        const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
        const ratio = (one + 0.05) / (two + 0.05);
        seen += 1;
        if (ratio < (large ? 3 : 4.5)) weak.set(`${text.trim().slice(0, 30)} (${each.className})`, ratio.toFixed(2));
    };
    const root = document.querySelector("dialog[open]") || document.body;
    const walk = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) {
        const each = walk.currentNode.parentElement;
        const text = walk.currentNode.data;
        if (!text.trim() || each.closest("button:disabled, option, datalist, script, style, .hidden, svg")) continue;
        const range = document.createRange();
        range.selectNode(walk.currentNode);
        const style = getComputedStyle(each);
        if (range.getClientRects().length) look(each, style.color, style, text);
    }
    for (const each of document.querySelectorAll("input, select")) {
        if (!each.getClientRects().length) continue;
        const part = each.placeholder ? getComputedStyle(each, "::placeholder") : getComputedStyle(each);
        look(each, part.color, getComputedStyle(each), each.placeholder || each.name);
    }
    return { seen, weak: [...weak] };
}"""
