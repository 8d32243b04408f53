"""Makes classifier.txt: python3 apps/tissue/train.py > apps/tissue/classifier.txt (with scikit-learn, scikit-image and this package).

Tiles of skimage/data/ihc.png (a colon, brown where an antibody has found its protein, blue where there are nuclei) are labelled by a rule
that looks at the stains of single pixels, which the classifier does not see:

    stained     at least half of the pixels are brown: the DAB channel of skimage.color.rgb2hed is above 0.06
    background  not that, and at least 0.6 of the pixels are light: their mean of red, green and blue is above 200
    stroma      neither

Its features are those of penstock.references.tissue_features, of tiles that went through JPEG as the application's do. The tiles whose
middle lies in the lower right quarter are not trained on; the file says how many of them get the class that the rule gives them.
"""

import io
from pathlib import Path

import numpy as np
import skimage
import sklearn
from PIL import Image
from skimage.color import rgb2hed
from sklearn.linear_model import LogisticRegression

from penstock.references import tissue_features

NAMES = ["background", "stroma", "stained"]


def label(brown: np.ndarray, light: np.ndarray) -> int:
    if brown.mean() >= 0.5:
        return 2
    return 0 if light.mean() >= 0.6 else 1


def through_jpeg(tile: np.ndarray) -> np.ndarray:
    file = io.BytesIO()
    Image.fromarray(tile).save(file, "jpeg", quality=90)
    return np.asarray(Image.open(file))


def main() -> None:
    picture = np.asarray(Image.open(Path(skimage.__file__).parent / "data" / "ihc.png").convert("RGB"))
    brown, light = rgb2hed(picture)[..., 2] > 0.06, picture.mean(2) > 200
    features, labels, held_out = [], [], []
    for side, step in ((64, 16), (128, 32)):
        for row in range(0, len(picture) - side + 1, step):
            for column in range(0, len(picture) - side + 1, step):
                tile = np.s_[row : row + side, column : column + side]
                features.append(tissue_features(through_jpeg(np.ascontiguousarray(picture[tile]))))
                labels.append(label(brown[tile], light[tile]))
                held_out.append(row + side / 2 > 256 and column + side / 2 > 256)
    values, wanted, held = np.array(features), np.array(labels), np.array(held_out)
    mean, scale = values[~held].mean(0), values[~held].std(0)
    model = LogisticRegression(C=0.1, max_iter=10_000).fit((values[~held] - mean) / scale, wanted[~held])
    right = model.predict((values - mean) / scale) == wanted

    def line(word: str, numbers: np.ndarray) -> None:
        print(word, *(f"{number:.17g}" for number in numbers))

    print("# Made by train.py, whose first lines are the recipe; scikit-learn", sklearn.__version__ + ".")
    print(f"# Tiles with the class of the rule: {right[~held].sum()} of {(~held).sum()} trained on, {right[held].sum()} of {held.sum()} others.")
    print("classes", *NAMES)
    line("mean", mean)
    line("scale", scale)
    for weights in model.coef_:
        line("weights", weights)
    line("bias", model.intercept_)


if __name__ == "__main__":
    main()
